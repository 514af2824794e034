"""A pod's status and a container's restarts."""

import pytest

from e2e.bed.kubelet.containers import backoff, restarts
from e2e.bed.kubelet.images import short_name, table
from e2e.bed.kubelet.pods import identity
from e2e.bed.kubelet.status import ContainerState, Ended, PodFacts, phase, pod_status

FACTS = PodFacts("10.0.0.7", "10.0.0.1", "2026-01-01T00:00:00Z")
RUNNING = ContainerState("main", "app:1", pid=42, started="2026-01-01T00:00:01Z", startup_done=True, ready=True)
DONE = ContainerState("main", "app:1", ended=Ended(0, "a", "b"))
FAILED = ContainerState("main", "app:1", ended=Ended(-9, "a", "b"))


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([ContainerState("main", "app:1")], "Pending"),
        ([RUNNING], "Running"),
        ([RUNNING, DONE], "Running"),
        ([ContainerState("main", "app:1", restarts=1, reason="CrashLoopBackOff")], "Running"),
        ([DONE], "Succeeded"),
        ([DONE, FAILED], "Failed"),
    ],
)
def test_phase(states, expected):
    assert phase(states) == expected


def conditions(status):
    return {entry["type"]: (entry["status"], entry["lastTransitionTime"]) for entry in status["conditions"]}


def test_a_pod_is_ready_when_all_its_containers_are():
    status = pod_status(FACTS, [RUNNING, ContainerState("other", "app:1")], {}, "now")
    assert conditions(status)["Ready"] == ("False", "now")
    assert conditions(pod_status(FACTS, [RUNNING], {}, "now"))["Ready"] == ("True", "now")


def test_a_condition_keeps_its_time_until_it_changes():
    before = pod_status(FACTS, [RUNNING], {}, "then")
    assert pod_status(FACTS, [RUNNING], before, "now") == before
    after = conditions(pod_status(FACTS, [ContainerState("main", "app:1")], before, "now"))
    assert after["Ready"] == ("False", "now")
    assert after["PodScheduled"] == ("True", "then")


def test_a_killed_container_shows_the_signal_as_shells_do():
    state = ContainerState("main", "app:1", pid=43, restarts=1, before=Ended(-9, "a", "b"))
    assert state.status()["lastState"]["terminated"]["exitCode"] == 137
    assert state.status()["containerID"] == "process://43"


def test_backoff_grows_and_ends_at_ten_seconds():
    assert [backoff(crashes) for crashes in (1, 2, 3, 4)] == [0, 0.2, 0.4, 0.8]
    assert backoff(1000) == 10


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Always", 0, True), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Never", 1, False)],
)
def test_restart_policy(policy, code, again):
    assert restarts(policy, code) is again


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("ghcr.io/ionos-cloud/cluster-api-provider-proxmox:v0.9.0", "cluster-api-provider-proxmox"),
        ("localhost:5000/pxnet", "pxnet"),
        ("pxnet@sha256:0123", "pxnet"),
        ("pxnet:v1@sha256:0123", "pxnet"),
    ],
)
def test_an_image_is_known_by_its_last_name(reference, name):
    assert short_name(reference) == name


def test_who_a_container_runs_as():
    image = table({})["pxnet"]
    assert identity({"spec": {}}, {"name": "m"}, image) == (65532, 65532)
    pod = {"spec": {"securityContext": {"runAsUser": 1000, "runAsGroup": 7}}}
    assert identity(pod, {"name": "m", "securityContext": {"runAsUser": 2000}}, image) == (2000, 7)
    with pytest.raises(Exception, match="runAsNonRoot"):
        identity({"spec": {"securityContext": {"runAsNonRoot": True, "runAsUser": 0}}}, {"name": "m"}, image)
