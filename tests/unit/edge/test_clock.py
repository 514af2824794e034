"""The system's clock keeps its promises."""

from datetime import timedelta

import pytest

from provider.edge.clock import SystemClock


def test_now_is_aware_and_utc():
    assert SystemClock().now().utcoffset() == timedelta(0)


@pytest.mark.looptime
async def test_sleep_takes_the_loops_time(looptime):
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(3600)
    assert looptime == 3600
    assert 0 <= clock.monotonic() - before < 60
