"""Everything about one network or one zone in one value, out of the copies at hand. Reads nothing, changes nothing."""

from collections.abc import Iterable, Mapping

from provider.api.network import ProxmoxNetwork
from provider.api.pool import Pool
from provider.api.zone import ProxmoxNetworkZone, ZoneVlans
from provider.controllers.catalog import Catalog
from provider.controllers.demand import Answer
from provider.core import networks, zones
from provider.core.addresses import Family
from provider.core.bars import denied
from provider.core.machines import NOBODY, Users
from provider.core.names import MANAGED_BY, NetworkKey
from provider.core.networks import Holders
from provider.core.offers import Offer
from provider.core.overlaps import ForeignPool, contested, overlapped, read_foreign_pool, twice_in_force
from provider.core.ranges import Ranges
from provider.core.spans import Problem


def see_network(
    catalog: Catalog,
    pools: Iterable[Pool],
    key: NetworkKey,
    network: ProxmoxNetwork,
    holders: Holders,
    elsewhere: Mapping[Family, Ranges],
    answer: Answer | None = None,
    machines: Users = NOBODY,
) -> networks.Seen:
    """What `networks.resolve` wants to know."""
    zone = catalog.zones.get(network.spec.zone)
    # A zone that is being deleted offers nothing any more, and waits for its networks to go.
    offering = zone is not None and not zone.metadata.deleting
    wanted, current = catalog.wanted(network.spec.zone, key) if offering else None, catalog.current(key)
    offer = wanted if wanted is not None and not wanted.problems else None
    clashes = _clashes(catalog, key, offer) if offer is not None else ()
    places = [place for place in (offer, current) if place]
    taken, messages = overlapped(places, _foreign(catalog, pools)[0], key[0])
    if current is not None:
        twice, also = twice_in_force(key, current, catalog.rivals(current.segment))
        messages = (*messages, *also)
        taken = {family: taken.get(family, Ranges()).union(twice.get(family, Ranges())) for family in {*taken, *twice}}
    return networks.Seen(
        key=key,
        zone=network.spec.zone,
        deleting=network.metadata.deleting,
        made_by_us=network.metadata.labels.get(MANAGED_BY[0]) == MANAGED_BY[1],
        current=current,
        zone_exists=offering,
        wanted=wanted,
        contested=clashes,
        overlapped=taken,
        overlap_messages=messages,
        elsewhere=elsewhere,
        holders=holders,
        refused=answer.refused if answer is not None else None,
        notes=answer.notes if answer is not None else (),
        machines=machines,
    )


def see_zone(catalog: Catalog, pools: Iterable[Pool], zone: ProxmoxNetworkZone) -> zones.Seen:
    """What `zones.decide` wants to know."""
    name = zone.metadata.name
    offers = catalog.offers(name)
    keys = {*offers, *catalog.of_zone(name)}
    pools = [*pools]
    return zones.Seen(
        zone=zone,
        offers=offers,
        contested={key: _clashes(catalog, key, offer) for key, offer in offers.items()},
        networks={key: catalog.networks[key] for key in keys if key in catalog.networks},
        pools=_foreign(catalog, pools)[0],
        pool_problems=_foreign(catalog, [pool for pool in pools if pool.zone == name])[1],
        vlans=_vlans(catalog, zone),
    )


def _clashes(catalog: Catalog, key: NetworkKey, offer: Offer) -> tuple[Problem, ...]:
    """Why an offer is somebody else's: its addresses, or its VLAN as a whole."""
    segment = offer.segment
    return (
        *denied(key, segment, catalog.bars, catalog.ground.holders.get(segment)),
        *contested(key, offer, catalog.current(key), catalog.rivals(segment)),
    )


def _vlans(catalog: Catalog, zone: ProxmoxNetworkZone) -> ZoneVlans | None:
    """How many VLANs the zone can give; None where it gives none."""
    bars, bridge = catalog.bars, zone.spec.bridge
    masks = bars.masks.get(zone.metadata.name)
    if masks is None or not masks.offered:
        return None
    offered = masks.offered & ~masks.reserved & ~masks.uplink
    free = offered & ~bars.barred.get(bridge, 0) & ~catalog.ground.mask(bridge) & ~catalog.foreign(bridge)
    return ZoneVlans(total=offered.bit_count(), allocated=offered.bit_count() - free.bit_count(), free=free.bit_count())


def _foreign(catalog: Catalog, pools: Iterable[Pool]) -> tuple[tuple[ForeignPool, ...], tuple[Problem, ...]]:
    """Pools that are marked as sitting on a zone, and the marks that cannot be understood."""
    bridges = catalog.bridges
    read = [read_foreign_pool(pool, bridges) for pool in pools if pool.zone is not None]
    return (
        tuple(pool for pool in read if isinstance(pool, ForeignPool)),
        tuple(pool for pool in read if isinstance(pool, Problem)),
    )
