"""Keep one container running: start, probe, restart with back-off, stop gracefully. What to run is handed in."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from e2e.bed.errors import BedError
from e2e.bed.kubelet.environment import MissingReference
from e2e.bed.kubelet.probes import Counter, Timing, ask
from e2e.bed.kubelet.status import ContainerState, Ended
from e2e.bed.processes import Command, Process, start

Object = dict[str, Any]
RETRY_SECONDS = 0.3
# A node's 10 s .. 5 min would only make stories wait.
FIRST_BACKOFF, LAST_BACKOFF, STEADY_SECONDS = 0.2, 10.0, 60.0


def backoff(run_of_crashes: int) -> float:
    """Seconds to wait before the next start: none after the first crash, then 0.2 s doubling up to 10 s."""
    if run_of_crashes <= 1:
        return 0.0
    return min(LAST_BACKOFF, FIRST_BACKOFF * 2.0 ** (run_of_crashes - 2))


def restarts(policy: str, code: int) -> bool:
    """Whether the pod's restartPolicy starts a container again that ended with `code`."""
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Container:
    """One container of one pod. `state` is always current; `changed` is called after each change of it."""

    def __init__(
        self,
        spec: Object,
        policy: str,
        address: str,
        prepare: Callable[[], Awaitable[Command]],
        changed: Callable[[], None],
    ) -> None:
        self.spec = spec
        self.state = ContainerState(spec["name"], spec["image"])
        self._policy = policy
        self._address = address
        self._prepare = prepare
        self._changed = changed
        self._process: Process | None = None

    async def run(self) -> None:
        """Until it ended for good. To end it earlier, cancel this and call `stop`."""
        crashes = 0
        while True:
            command = await self._prepared()
            begun = time.monotonic()
            self._process = process = await asyncio.to_thread(start, command)
            since = timestamp()
            self._set(pid=process.pid, started=since, startup_done=False, ready=False)
            probing = asyncio.create_task(self._probe(process))
            await _ended(process)
            probing.cancel()
            code = await asyncio.to_thread(process.wait)
            end = Ended(code, since, timestamp())
            if not restarts(self._policy, code):
                self._set(pid=None, ready=False, startup_done=False, ended=end)
                return
            crashes = 1 if time.monotonic() - begun > STEADY_SECONDS else crashes + 1
            reason = "CrashLoopBackOff" if crashes > 1 else "Restarting"
            count = self.state.restarts + 1
            self._set(pid=None, ready=False, startup_done=False, before=end, restarts=count, reason=reason)
            await asyncio.sleep(backoff(crashes))

    async def stop(self, grace: float) -> None:
        """TERM, and KILL after `grace` seconds. Only after `run` was cancelled."""
        process = self._process
        if process is not None and process.alive:
            await self._end(process, grace)
        if process is not None:
            end = Ended(await asyncio.to_thread(process.wait), self.state.started, timestamp())
            self._set(pid=None, ready=False, startup_done=False, ended=end)

    async def _prepared(self) -> Command:
        while True:
            try:
                return await self._prepare()
            except MissingReference as error:
                self._set(reason="CreateContainerConfigError", message=str(error))
            except BedError as error:
                self._set(reason="CreateContainerError", message=str(error))
            await asyncio.sleep(RETRY_SECONDS)

    async def _end(self, process: Process, grace: float) -> None:
        process.send(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(_ended(process), grace)
            return
        process.send(signal.SIGKILL)
        await _ended(process)

    async def _probe(self, process: Process) -> None:
        if probe := self.spec.get("startupProbe"):
            async for passed in self._answers(probe):
                if passed is False:
                    await self._end(process, probe.get("terminationGracePeriodSeconds", 30))
                    return
                if passed:
                    break
        self._set(startup_done=True, ready="readinessProbe" not in self.spec)
        async with asyncio.TaskGroup() as both:
            if probe := self.spec.get("readinessProbe"):
                both.create_task(self._watch_readiness(probe))
            if probe := self.spec.get("livenessProbe"):
                both.create_task(self._watch_liveness(probe, process))

    async def _watch_readiness(self, probe: Object) -> None:
        async for passed in self._answers(probe):
            self._set(ready=bool(passed))

    async def _watch_liveness(self, probe: Object, process: Process) -> None:
        async for passed in self._answers(probe):
            if passed is False:
                await self._end(process, probe.get("terminationGracePeriodSeconds", 30))

    async def _answers(self, probe: Object) -> AsyncIterator[bool | None]:
        """Endless: after each question, whether the probe is passed (None: not decided yet)."""
        timing, counter, begun = Timing.of(probe), Counter(), time.monotonic()
        while True:
            success = await ask(probe, self.spec, self._address)
            counter = counter.record(success, time.monotonic() - begun, timing)
            yield counter.passed
            await asyncio.sleep(counter.pause(timing))

    def _set(self, **changes: Any) -> None:
        changed = replace(self.state, **changes)
        if changed != self.state:
            self.state = changed
            self._changed()


async def _ended(process: Process) -> None:
    """Wait for its end without a thread and without polling."""
    if not process.alive:
        return
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        loop.add_reader(descriptor, over.set)
        await over.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
