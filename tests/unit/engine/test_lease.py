"""Candidates for one lease, over a fake API server, on a time of the tests' own."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import pytest

from provider.edge.kube.errors import NotFound
from provider.edge.kube.resources import LEASES
from provider.engine.lease import Lease, Times
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.store import Store

pytestmark = pytest.mark.looptime
TIMES = Times(duration=15, renew_deadline=10, retry=2)


class LoopClock:
    """The loop's time; `skew` seconds are what this host's time of day is wrong by."""

    def __init__(self, skew=0.0):
        self._skew = skew

    def now(self):
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.monotonic() + self._skew)

    def monotonic(self):
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds):
        await asyncio.sleep(seconds)


class Candidate:
    """One replica: when it began and ended to lead."""

    def __init__(self, store, name, skew=0.0, work=None):
        self.name = name
        self.fate = Fate(random.Random(1), Faults())
        self.leads = False
        self.spans = []
        self._work = work
        self.lease = Lease(FakeKube(store, self.fate), LoopClock(skew), "home", "pxnet", name, TIMES)
        self.task = asyncio.create_task(self._stand())

    async def _stand(self):
        while True:
            await self.lease.lead(self._lead)

    async def _lead(self):
        start = asyncio.get_running_loop().time()
        self.leads = True
        try:
            await (self._work() if self._work else asyncio.Event().wait())
        finally:
            self.leads = False
            self.spans.append((start, asyncio.get_running_loop().time()))

    async def stop(self):
        self.task.cancel()
        await asyncio.wait([self.task])


@pytest.fixture
async def store():
    return Store(asyncio.get_running_loop().time)


@pytest.fixture
async def enter(store):
    """Start candidates; they are stopped in the end."""
    entered = []

    def start(name, **more):
        entered.append(Candidate(store, name, **more))
        return entered[-1]

    yield start
    for candidate in entered:
        await candidate.stop()


def spec(store):
    return store.get(LEASES, "pxnet", "home")["spec"]


async def test_the_first_one_leads_and_goes_on_leading(store, enter):
    first = enter("a")
    await asyncio.sleep(1)
    second = enter("b")
    await asyncio.sleep(600)
    assert first.leads
    assert not second.leads
    assert (spec(store)["holderIdentity"], spec(store)["leaseTransitions"]) == ("a", 1)
    assert spec(store)["acquireTime"] < spec(store)["renewTime"]


async def test_a_clean_stop_hands_over_within_a_retry(store, enter):
    first = enter("a")
    await asyncio.sleep(1)
    second = enter("b")
    await asyncio.sleep(30)
    await first.stop()
    assert spec(store)["holderIdentity"] == ""
    await asyncio.sleep(2.1)
    assert second.leads
    assert spec(store)["leaseTransitions"] == 2


async def test_a_dead_leader_is_followed_after_the_duration_and_not_before(enter):
    first = enter("a")
    await asyncio.sleep(1)
    second = enter("b")
    await asyncio.sleep(30)
    first.fate.dead = True
    await asyncio.sleep(12)
    assert not second.leads
    await asyncio.sleep(8)
    assert second.leads


@pytest.mark.parametrize("skew", [-86400.0, 86400.0])
async def test_a_wrong_time_of_day_neither_steals_nor_blocks(enter, skew):
    first = enter("a")
    await asyncio.sleep(1)
    second = enter("b", skew=skew)
    await asyncio.sleep(300)
    assert first.leads
    assert not second.leads
    first.fate.dead = True
    await asyncio.sleep(20)
    assert second.leads


@pytest.mark.parametrize("trouble", ["refused", "hanging"])
async def test_a_leader_that_cannot_renew_stops_before_the_next_one_starts(enter, trouble):
    first = enter("a")
    await asyncio.sleep(1)
    second = enter("b")
    await asyncio.sleep(30)
    first.fate.faults = Faults(refuse=1.0) if trouble == "refused" else Faults(delay=1e9)
    await asyncio.sleep(60)
    assert second.leads
    (span,) = first.spans
    assert 31 + TIMES.renew_deadline - TIMES.retry <= span[1] <= 31 + TIMES.renew_deadline + TIMES.retry


async def test_a_short_trouble_is_outlived(enter):
    first = enter("a")
    await asyncio.sleep(30)
    first.fate.faults = Faults(refuse=1.0)
    await asyncio.sleep(6)
    first.fate.faults = Faults()
    await asyncio.sleep(60)
    assert first.leads
    assert first.spans == []


async def test_a_lease_deleted_under_the_leader_is_made_again(store, enter):
    first = enter("a")
    await asyncio.sleep(30)
    store.delete(LEASES, "pxnet", "home", None)
    with pytest.raises(NotFound):
        spec(store)
    await asyncio.sleep(3)
    assert first.leads
    assert spec(store)["holderIdentity"] == "a"


async def test_a_lease_taken_by_hand_ends_the_leadership(store, enter):
    first = enter("a")
    await asyncio.sleep(30)
    store.patch(LEASES, "pxnet", {"spec": {"holderIdentity": "somebody"}}, "home", None)
    await asyncio.sleep(13)
    assert not first.leads
    assert spec(store)["holderIdentity"] == "somebody"


async def test_an_error_of_the_work_comes_out_and_the_lease_is_released(store, enter):
    async def fail():
        await asyncio.sleep(5)
        raise ValueError("broken")

    first = enter("a", work=fail)
    await asyncio.sleep(10)
    assert isinstance(first.task.exception(), ValueError)
    assert spec(store)["holderIdentity"] == ""


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_happens_at_most_one_leads(store, seed):
    chance = random.Random(seed)
    candidates = [Candidate(store, name, skew=chance.uniform(-1e4, 1e4)) for name in "abc"]
    for candidate in candidates:
        candidate.fate.faults = Faults(refuse=0.2, lose=0.2, delay=0.5)
    led = set()
    for _ in range(200):
        await asyncio.sleep(chance.uniform(0.5, 5))
        leaders = [candidate for candidate in candidates if candidate.leads]
        assert len(leaders) <= 1
        led |= {leader.name for leader in leaders}
        if leaders and chance.random() < 0.2:
            index = candidates.index(leaders[0])
            await leaders[0].stop()
            await asyncio.sleep(chance.uniform(0, 10))
            candidates[index] = Candidate(store, leaders[0].name)
    for candidate in candidates:
        await candidate.stop()
    assert len(led) > 1
