"""A pod's status from the states of its containers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run of a container ended; negative `code` is the signal. Times are RFC 3339."""

    code: int
    started: str
    finished: str

    def state(self) -> Object:
        # Shells, and so Kubernetes, write a signal as 128 + its number.
        code = 128 - self.code if self.code < 0 else self.code
        reason = "Completed" if code == 0 else "Error"
        return {"exitCode": code, "reason": reason, "startedAt": self.started, "finishedAt": self.finished}


@dataclass(frozen=True, slots=True)
class ContainerState:
    """One container as it is now: running (pid and `started`), or waiting for a reason, or ended for good."""

    name: str
    image: str
    pid: int | None = None
    started: str = ""
    startup_done: bool = False
    ready: bool = False
    restarts: int = 0
    reason: str = "ContainerCreating"
    message: str = ""
    ended: Ended | None = None  # for good: it will not run again
    before: Ended | None = None  # the run before this one

    def status(self) -> Object:
        if self.ended is not None:
            state: Object = {"terminated": self.ended.state()}
        elif self.pid is not None:
            state = {"running": {"startedAt": self.started}}
        else:
            state = {"waiting": {"reason": self.reason, "message": self.message}}
        return {
            "name": self.name,
            "image": self.image,
            "imageID": f"local://{self.image}",
            "containerID": f"process://{self.pid}" if self.pid is not None else "",
            "ready": self.ready,
            "started": self.startup_done,
            "restartCount": self.restarts,
            "state": state,
            "lastState": {"terminated": self.before.state()} if self.before else {},
        }


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What is the same for the pod's whole life. `ip` is empty until its network is there."""

    ip: str
    node_ip: str
    start_time: str


def phase(states: Sequence[ContainerState]) -> str:
    if all(state.ended is not None for state in states):
        return "Succeeded" if all(state.ended is not None and state.ended.code == 0 for state in states) else "Failed"
    if any(state.pid is not None or state.restarts or state.ended for state in states):
        return "Running"
    return "Pending"


def pod_status(facts: PodFacts, states: Sequence[ContainerState], previous: Object, now: str) -> Object:
    """The status to write. `previous` is the last one written: a condition that did not change keeps its time."""
    ready = all(state.ready for state in states)
    truths = {
        "PodReadyToStartContainers": bool(facts.ip),
        "Initialized": True,
        "PodScheduled": True,
        "ContainersReady": ready,
        "Ready": ready,
    }
    held = {condition["type"]: condition for condition in previous.get("conditions", ())}
    conditions = []
    for kind, truth in truths.items():
        value = str(truth)
        before = held.get(kind, {})
        since = before["lastTransitionTime"] if before.get("status") == value else now
        conditions.append({"type": kind, "status": value, "lastTransitionTime": since})
    status: Object = {
        "phase": phase(states),
        "hostIP": facts.node_ip,
        "hostIPs": [{"ip": facts.node_ip}],
        "startTime": facts.start_time,
        "conditions": conditions,
        "containerStatuses": [state.status() for state in states],
    }
    if facts.ip:
        status |= {"podIP": facts.ip, "podIPs": [{"ip": facts.ip}]}
    return status
