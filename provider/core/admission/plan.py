"""Which policies there should be, from the zones and the networks in force."""

from collections.abc import Iterable, Mapping, Sequence

from provider.api.zone import ProxmoxNetworkZone
from provider.core.admission.documents import Pair
from provider.core.admission.facts import Setting, Templates, ZoneFacts
from provider.core.admission.tenant_policy import tenant_policy
from provider.core.admission.zone_policy import zone_policy
from provider.core.offers import Offer


def zone_facts(name: str, zone: ProxmoxNetworkZone | None, in_force: Iterable[Offer]) -> ZoneFacts | None:
    """What the zone's policy has to know; None when there is nothing left to guard.

    Args:
        name: of the zone.
        zone: the zone; None when it is gone.
        in_force: what its networks are on: a bridge that the zone has left, or left behind, stays guarded with them.
    """
    bridges = {offer.segment.bridge for offer in in_force}
    if zone is None:
        return ZoneFacts(name, tuple(sorted(bridges))) if bridges else None
    uplink = zone.spec.uplink
    return ZoneFacts(
        name,
        tuple(sorted(bridges | {zone.spec.bridge})),
        tuple(sorted(uplink.bridges)) if uplink is not None else (),
        tuple(sorted(uplink.vlans)) if uplink is not None else (),
    )


def wanted_zone(facts: ZoneFacts | None, setting: Setting) -> Pair | None:
    return None if facts is None else zone_policy(facts, setting)


def wanted_tenants(zones: Mapping[str, ProxmoxNetworkZone], networks: int, setting: Setting) -> Pair | None:
    """The tenants' policy, as long as there is a zone or a network that outlived its zone."""
    if not zones and not networks:
        return None
    return tenant_policy(setting, templates_of(list(zones.values())))


def templates_of(zones: Sequence[ProxmoxNetworkZone]) -> list[Templates]:
    """What each zone allows to be cloned."""
    said = [zone.spec.templates for zone in zones]
    return [Templates(tuple(sorted(each.ids)), tuple(sorted(each.tags))) for each in said if each is not None]


def newest_version(definition: Mapping[str, object] | None, known: Sequence[str]) -> str | None:
    """The newest of the known versions that a CRD serves. None when it serves none of them.

    Without a CRD, capmox is still to come: the newest, so that nothing is open when it does.
    """
    if definition is None:
        return known[0]
    spec = definition["spec"]
    assert isinstance(spec, Mapping)
    served = {version["name"] for version in spec["versions"] if version.get("served")}
    return next((version for version in known if version in served), None)
