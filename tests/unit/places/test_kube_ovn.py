"""What Kube-OVN's Vlans keep from being given: how they are read, and which zones' bridges they count on."""

import pytest

from provider.api.kube_ovn import UNTAGGED, Vlan, read_vlan
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.catalog import Catalog
from provider.core.bars import bars_of


def zone(name, bridge, provider=None):
    spec = {"bridge": bridge, **({"providerNetwork": provider} if provider else {})}
    return ProxmoxNetworkZone.model_validate({"metadata": {"name": name, "resourceVersion": "1"}, "spec": spec})


@pytest.mark.parametrize(
    ("spec", "provider", "vlan"),
    [
        ({"id": 105, "provider": "east"}, "east", 105),
        ({"id": 1, "provider": "east"}, "east", 1),
        ({"id": 4094, "provider": "east"}, "east", 4094),
        ({"id": 0, "provider": "east"}, "east", UNTAGGED),
        ({"id": 4095, "provider": "east"}, "east", UNTAGGED),
        ({"id": 10**12, "provider": "east"}, "east", UNTAGGED),
        ({"id": -1, "provider": "east"}, "east", UNTAGGED),
        ({"id": "105", "provider": "east"}, "east", UNTAGGED),
        ({"id": 105}, "", 105),
        ({"id": 105, "provider": None}, "", 105),
        ({}, "", UNTAGGED),
        (None, "", UNTAGGED),
    ],
)
def test_a_vlan_is_read_whatever_is_in_it(spec, provider, vlan):
    assert read_vlan({"metadata": {"resourceVersion": "7"}, "spec": spec}) == Vlan("7", provider, vlan)


def test_every_zone_of_a_bridge_leaves_out_what_one_of_them_names():
    zones = [zone("a", "vmbr0", "east"), zone("b", "vmbr0"), zone("c", "vmbr0", "west"), zone("d", "vmbr1")]
    assert bars_of(zones).provider_networks == {"vmbr0": {"east", "west"}}
    catalog = Catalog()
    for each in zones:
        catalog.put_zone(each)
    for provider, vlan in (("east", 1), ("west", 2), ("north", 3), ("east", 4), ("east", 4)):
        catalog.kube_ovn.enter(provider, vlan)
    assert (catalog.foreign("vmbr0"), catalog.foreign("vmbr1")) == (0b10110, 0)
    catalog.kube_ovn.leave("east", 4)
    assert catalog.foreign("vmbr0") == 0b10110, "two Vlans have it, one is left"
    catalog.drop_zone("a")
    assert catalog.foreign("vmbr0") == 0b100
