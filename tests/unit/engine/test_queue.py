"""The queue: one worker a key, nothing lost, growing delays. In the loop's own fast time."""

import asyncio

import pytest

from provider.edge.clock import SystemClock
from provider.engine.queue import Queue

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


class Work:
    """Records what runs; `answers` are the results of the next runs."""

    def __init__(self, *answers) -> None:
        self.runs: list[tuple[str, float]] = []
        self.answers = [*answers]
        self.running: set[str] = set()

    async def __call__(self, key: str) -> float | None:
        assert key not in self.running
        self.running.add(key)
        self.runs.append((key, round(asyncio.get_running_loop().time(), 3)))
        await asyncio.sleep(1)
        self.running.discard(key)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


async def ran(work: Work, seconds: float, *adds: tuple[float, str], workers: int = 2) -> list[str]:
    queue: Queue[str] = Queue("test", work, SystemClock(), workers, seed=1)
    task = asyncio.create_task(queue.run())
    for after, key in adds:
        if after:
            await asyncio.sleep(after)
        queue.add(key)
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return [key for key, _ in work.runs]


async def test_each_key_once_and_different_keys_together():
    work = Work()
    assert await ran(work, 5, (0, "a"), (0, "a"), (0, "b")) == ["a", "b"]
    assert work.runs[0][1] == work.runs[1][1]


async def test_an_add_during_the_work_runs_it_again_afterwards():
    work = Work()
    assert await ran(work, 5, (0, "a"), (0.5, "a"), (0.1, "a")) == ["a", "a"]


async def test_an_error_comes_back_later_and_later():
    work = Work(ValueError("one"), ValueError("two"), ValueError("three"))
    assert await ran(work, 20, (0, "a")) == ["a"] * 4
    waits = [round(later - before - 1, 3) for (_, before), (_, later) in zip(work.runs, work.runs[1:], strict=False)]
    assert waits == sorted({*waits})


async def test_a_wish_to_be_seen_again():
    work = Work(3.0)
    assert await ran(work, 10, (0, "a")) == ["a", "a"]
    assert work.runs[1][1] - work.runs[0][1] == pytest.approx(4.0, abs=0.01)


async def test_one_worker_keeps_the_order():
    assert await ran(Work(), 10, (0, "a"), (0, "b"), (0, "c"), workers=1) == ["a", "b", "c"]


async def test_a_key_that_fails_for_a_day_is_still_tried_every_minute():
    """Long enough for the doubled delay to pass what a float can hold."""
    work = Work(*(ValueError("still broken") for _ in range(2000)))
    runs = await ran(work, 20 * 3600.0, (0, "a"), workers=1)
    assert len(runs) > 1100
    assert work.runs[-1][1] > 19.9 * 3600


async def test_who_is_in_a_hurry_goes_first():
    work = Work()
    queue: Queue[str] = Queue("test", work, SystemClock(), 1, seed=1)
    for key in ("a", "b", "c", "d"):
        queue.add(key)
    queue.hurry(lambda key: key in ("b", "d"))
    task = asyncio.create_task(queue.run())
    await asyncio.sleep(5)
    task.cancel()
    assert [key for key, _ in work.runs] == ["b", "d", "a", "c"]
