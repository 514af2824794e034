"""The shipped roles are enough: the provider does all it does under its own service account, and is never refused."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from config import rbac
from config.deployment import namespace
from config.generate import to_yaml
from e2e.bed.bed import Bed
from e2e.bed.binaries import binary
from e2e.bed.processes import Process
from tests.api.running import log_of, provider
from tests.api.tenant import Tenant
from tests.api.test_kube_ovn_vlans import kube_ovn, vlan
from tests.api.test_networks import Table, row
from tests.api.test_on_demand import Zone
from tests.api.witness import ADDRESS, CLAIM, NETWORK, POOL, ZONE, Witness, until


@pytest.fixture(scope="module")
def account(control_plane: Bed, witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kubeconfig of the provider's service account, with the roles that are shipped and nothing else."""
    kubectl = [str(binary("kubectl")), "--kubeconfig", str(control_plane.kubeconfig)]
    documents = to_yaml(namespace(), *rbac.documents())
    subprocess.run([*kubectl, "apply", "-f", "-"], input=documents, text=True, check=True, capture_output=True)
    create = [*kubectl, "create", "token", rbac.ACCOUNT, "--namespace", rbac.NAMESPACE]
    token = subprocess.run(create, text=True, check=True, capture_output=True).stdout
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    path = tmp_path_factory.mktemp("account") / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def process(control_plane: Bed, witness: Witness, account: Path) -> Iterator[Process]:
    with provider(control_plane, "--kubeconfig", str(account), "--lease-namespace", rbac.NAMESPACE) as running:
        yield running


def test_a_whole_life_under_the_shipped_roles(place: Tenant, process: Process) -> None:
    table = Table(place, row(), row("red", 9, "10.1.0.5", gateway=None))
    table.network("blue", "True", "Ready")
    everywhere = place.pool(["10.2.0.7"], everywhere=True)
    plain = place.pool(["10.3.0.7"], "plain")
    for name, pool in (("one", table.pool("blue-inet")), ("two", everywhere), ("three", plain)):
        place.claim(name, pool)
        place.answered(name)
    place.claim("later", plain)
    place.refused("later", "PoolExhausted")
    place.patch_pool(plain, {"spec": {"addresses": ["10.3.0.7", "10.3.0.8"]}})
    place.answered("later")
    table.write(row("blue", 107, "10.0.0.10-10.0.0.30"))
    until(lambda: place.get(POOL, "blue-inet")["spec"]["addresses"] == ["10.0.0.10-10.0.0.30"], "the pool is longer")
    table.write(row())
    table.network("blue", "True", "Ready")
    place.witness.delete(ZONE, None, table.name)
    for name in ("one", "two", "three", "later"):
        place.delete(CLAIM, name)
        place.gone(CLAIM, name)
        place.gone(ADDRESS, name)
    for pool in (everywhere, plain):
        place.delete_pool(pool)
        place.pool_gone(pool)
    place.gone(NETWORK, "blue")
    until(lambda: place.witness.find(ZONE, None, table.name) is None, "the zone is gone")
    refused = [line for line in log_of(process).splitlines() if "forbidden" in line.lower()]
    assert refused == []
    assert process.alive


def test_beside_kube_ovn_under_the_shipped_roles(control_plane: Bed, place: Tenant, account: Path) -> None:
    with kube_ovn(place.witness):
        vlan(place.witness, "first", 1, "roles")
        flags = ("--kubeconfig", str(account), "--lease-namespace", rbac.NAMESPACE)
        with provider(control_plane, *flags) as running:
            assert Zone(place, providerNetwork="roles").given("blue")["vlan"] == 2
            assert "forbidden" not in log_of(running).lower()


def test_tenants_ask_for_networks_and_write_no_status(control_plane: Bed, account: Path, place: Tenant) -> None:
    kubectl = [str(binary("kubectl")), "--kubeconfig", str(control_plane.kubeconfig)]
    binding = ["create", "rolebinding", "tenant", "--clusterrole=admin", "--user=tenant", "-n", place.namespace]
    subprocess.run([*kubectl, *binding], check=True, capture_output=True)

    def may(verb: str, kind: str, *of: str) -> bool:
        ask = [*kubectl, "auth", "can-i", verb, kind, *of, "--as=tenant", "-n", place.namespace]
        return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() == "yes"

    networks = "proxmoxnetworks.proxmox.cozystack.io"
    for verb in ("list", "create", "patch", "delete"):
        until(lambda verb=verb: may(verb, networks), f"the tenant may {verb} its networks")  # type: ignore[misc]
    for verb in ("update", "patch"):
        assert not may(verb, networks, "--subresource=status")
    for kind in ("proxmoxnetworkzones.proxmox.cozystack.io", "addressblocks.proxmox.cozystack.io"):
        assert not may("get", kind)
