"""Networks on demand whose place changes, or becomes free: by edits of bridges, and by zones that go."""

from tests.api.tenant import PoolRef, Tenant
from tests.api.test_on_demand import Zone, written
from tests.api.witness import CLAIM, NETWORK, POOL, ZONE, Json, until

ONE = [{"first": 10, "last": 10}]


ROW: Json = {"name": "row", "vlan": 10, "ipv4": {"addresses": ["192.168.9.9"], "prefix": 24}}


def waiting(tenant: Tenant) -> tuple[Zone, Zone]:
    """A zone with a row on VLAN 10, and one on the same bridge whose network waits for that VLAN."""
    table = Zone(tenant, vlanRanges=[], networks={tenant.namespace: [ROW]})
    table.network("row")
    zone = Zone(tenant, bridge=table.bridge, vlanRanges=ONE)
    zone.ask("blue")
    zone.network("blue", "False", "ZoneExhausted")
    return table, zone


def test_a_network_that_outlived_its_zone_lets_the_next_one_in(tenant: Tenant) -> None:
    table, zone = waiting(tenant)
    tenant.claim("one", PoolRef(POOL, tenant.namespace, "row-inet"))
    tenant.answered("one")
    tenant.witness.delete(ZONE, None, table.name)
    tenant.witness.patch(ZONE, None, table.name, {"metadata": {"finalizers": []}})
    zone.network("row", "False", "InUse")
    zone.network("blue", "False", "ZoneExhausted")
    tenant.delete(CLAIM, "one")
    tenant.gone(NETWORK, "row")
    zone.network("blue")
    assert zone.place("blue")[0] == 10


def test_an_edited_bridge_moves_what_is_idle_and_keeps_what_is_in_use(tenant: Tenant) -> None:
    zone = Zone(tenant)
    for name in ("idle", "busy"):
        zone.given(name)
    tenant.claim("one", PoolRef(POOL, tenant.namespace, "busy-inet"))
    tenant.answered("one")
    old, new = f"vlan/{zone.bridge}", f"vlan/{zone.bridge}b"
    zone.edit(bridge=f"{zone.bridge}b")
    until(lambda: zone.status("idle").get("bridge") == f"{zone.bridge}b", "the idle one moves")
    zone.network("idle")
    assert "stays on" in zone.network("busy", "False", "InUse")
    assert (zone.status("busy")["bridge"], zone.place("busy")[0]) == (zone.bridge, 2)
    holders = {name: f"ProxmoxNetwork/{tenant.namespace}/{name}" for name in ("idle", "busy")}
    until(lambda: written(tenant.witness).get(old) == {"2": holders["busy"]}, "the idle one's place is returned")
    assert holders["idle"] in written(tenant.witness)[new].values()
    tenant.delete(CLAIM, "one")
    until(lambda: zone.status("busy").get("bridge") == f"{zone.bridge}b", "the other one follows when it is empty")
    zone.network("busy")
    until(lambda: not written(tenant.witness).get(old), "nothing is left on the old bridge")
    assert {*written(tenant.witness)[new].values()} == {*holders.values()}
