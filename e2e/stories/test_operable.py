"""The shipped Deployment in operation: two replicas without privileges, probed by gRPC; one dies, the other goes on.

And a cluster in which it cannot work, as one line that says what to do.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import yaml

from e2e.bed.bed import TREE, Bed
from e2e.bed.parts import LIGHT
from e2e.bed.processes import Process
from e2e.stories.machines import apply, namespace
from e2e.stories.networks import Network, addresses, wait_ready, zone
from e2e.stories.objects import Family
from e2e.stories.waiting import until
from tests.api.running import cluster_api_kinds, own_kinds

Object = dict[str, Any]
SYSTEM = "pxnet-system"
TENANT = "operable"
NETWORK = Network(TENANT, "blue", 230, Family(["10.230.0.10-10.230.0.19"], 24, "10.230.0.1"))
USER = 65532


def pods(bed: Bed) -> dict[str, Object]:
    items = json.loads(bed.kubectl("get", "pods", "--namespace", SYSTEM, "--output", "json"))["items"]
    return {item["metadata"]["name"]: item for item in items if "deletionTimestamp" not in item["metadata"]}


def ready(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def pid_of(pod: Object) -> int:
    (container,) = pod["status"]["containerStatuses"]
    return int(container["containerID"].removeprefix("process://"))


def leader(bed: Bed) -> str:
    """The pod that holds the lease, "" for none of them.

    The identity is <host name>_<pid>. The process kubelet's pods have the machine's host name, and its pids.
    """
    lease = json.loads(bed.kubectl("get", "lease", "pxnet-provider", "--namespace", SYSTEM, "--output", "json"))
    pid = int(lease["spec"]["holderIdentity"].rpartition("_")[2])
    return next((name for name, pod in pods(bed).items() if pid_of(pod) == pid), "")


def claim(name: str) -> Object:
    pool = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "blue-inet"}
    return {
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta2",
        "kind": "IPAddressClaim",
        "metadata": {"name": name, "namespace": TENANT},
        "spec": {"poolRef": pool},
    }


def test_two_replicas_without_privileges(drop_in: Bed) -> None:
    found = pods(drop_in)
    assert len(found) == 2
    for pod in found.values():
        assert ready(pod)
        assert pod["spec"]["serviceAccountName"] == "pxnet-provider"
        (container,) = pod["spec"]["containers"]
        assert {"grpc"} == {key for key in container["readinessProbe"] if key in ("grpc", "httpGet", "exec")}
        status = Path(f"/proc/{pid_of(pod)}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert set(fields["Uid"].split()) == {str(USER)}
        assert int(fields["CapEff"], 16) == 0


def test_the_leader_is_killed_and_the_other_answers(drop_in: Bed) -> None:
    apply(drop_in, [namespace(TENANT), zone("operable", "vmbr7", [NETWORK])])
    wait_ready(drop_in, [NETWORK])
    apply(drop_in, [claim("before")])
    until(lambda: addresses(drop_in, TENANT) == {"before": "10.230.0.10"}, "a claim is answered")
    dead = leader(drop_in)
    os.kill(pid_of(pods(drop_in)[dead]), signal.SIGKILL)
    apply(drop_in, [claim("after")])
    wanted = {"before": "10.230.0.10", "after": "10.230.0.11"}
    until(lambda: addresses(drop_in, TENANT) == wanted, "the other replica answers", 60.0)
    assert leader(drop_in) not in ("", dead)
    until(lambda: all(ready(pod) for pod in pods(drop_in).values()), "both replicas are ready again", 60.0)


def test_where_it_cannot_work_it_says_why_in_one_line() -> None:
    with Bed(parts=LIGHT) as bed:
        assert "install Cluster API first" in complaint(bed, "bare")
        apply(bed, cluster_api_kinds())
        apply(bed, [kind for kind in own_kinds() if "proxmox" not in kind["spec"]["group"]])
        assert "install pxnet's CRDs" in complaint(bed, "without-kinds")
        apply(bed, [foreign(kind) for kind in own_kinds()])
        line = complaint(bed, "foreign-kinds")
        assert "proxmoxnetworkzones.proxmox.cozystack.io" in line
        assert "installed by somebody else" in line


def foreign(kind: Object) -> Object:
    """The definition as somebody else would have installed it: without our labels."""
    copied: Object = yaml.safe_load(yaml.safe_dump(kind))
    copied["metadata"].pop("labels", None)
    return copied


def complaint(bed: Bed, name: str) -> str:
    """Start the provider, which must end by itself with status 1; gives the one line that it says."""
    addresses = ["--health-address", "127.0.0.1:0", "--metrics-address", ""]
    argv = [sys.executable, "-m", "provider", "--kubeconfig", str(bed.kubeconfig), *addresses]
    process: Process = bed.start_process(name, argv)
    until(lambda: not process.alive, f"{name}: it ends by itself", 30.0)
    (line,) = (TREE / process.command.log).read_text().splitlines()
    assert line.startswith("pxnet: ")
    return line
