"""What an admin writes into an AddressBlock by hand is law: reservations, quarantine, and entries that end."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.api.tenant import PoolRef, Tenant
from tests.api.witness import BLOCK, CLAIM, Json, Refused, until


def moment(seconds: float = 0.0) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def write(tenant: Tenant, pool: PoolRef, entries: Json) -> None:
    """Change entries of the pool's only block, as `kubectl edit` would."""
    (block,) = tenant.blocks(pool)
    tenant.witness.patch(BLOCK, None, block["metadata"]["name"], {"spec": {"entries": entries}})


def opened(tenant: Tenant, *addresses: str) -> PoolRef:
    """A pool whose first address is given, so that its block exists."""
    pool = tenant.pool([*addresses])
    tenant.claim("first", pool)
    tenant.answered("first")
    return pool


@pytest.mark.parametrize("state", ["Reserved", "Quarantined", "Held"])
def test_entry_by_hand_keeps_the_address_from_being_given(tenant: Tenant, state: str) -> None:
    """Written while the provider has the book open: the next write must not overlook it."""
    pool = opened(tenant, "10.0.0.1-10.0.0.9")
    entry = {"state": state, "holder": "the printer", "since": moment(), "reason": "answers to ARP"}
    write(tenant, pool, {"2": entry, "3": entry})
    tenant.claim("next", pool)
    assert tenant.answered("next") == "10.0.0.4"
    (block,) = tenant.blocks(pool)
    assert block["spec"]["entries"]["2"] == entry
    assert {key: block["status"][key] for key in ("allocated", state.lower())} == {"allocated": 2, state.lower(): 2}


def test_reservations_survive_a_storm_around_them(tenant: Tenant) -> None:
    pool = opened(tenant, "10.0.0.1-10.0.0.99")
    entry = {"state": "Reserved", "holder": "virtual address of the control plane", "since": moment()}
    names = [f"c{index}" for index in range(30)]
    for name in names[:10]:
        tenant.claim(name, pool)
    write(tenant, pool, {"40": entry, "50": entry})
    for name in names[10:]:
        tenant.claim(name, pool)
    got = {tenant.answered(name) for name in names}
    assert len(got) == 30
    assert not got & {"10.0.0.40", "10.0.0.50"}
    (block,) = tenant.blocks(pool)
    assert block["spec"]["entries"]["40"] == block["spec"]["entries"]["50"] == entry


def test_removed_reservation_answers_a_waiting_claim(tenant: Tenant) -> None:
    pool = opened(tenant, "10.0.0.1-10.0.0.2")
    write(tenant, pool, {"2": {"state": "Reserved", "holder": "the printer", "since": moment()}})
    tenant.claim("next", pool)
    tenant.refused("next", "PoolExhausted")
    write(tenant, pool, {"2": None})
    assert tenant.answered("next") == "10.0.0.2"


def test_entry_with_an_end_frees_its_address_then(tenant: Tenant) -> None:
    pool = opened(tenant, "10.0.0.1-10.0.0.2")
    entry = {"state": "Quarantined", "holder": "seen by ARP", "since": moment(), "until": moment(3)}
    write(tenant, pool, {"2": entry})
    tenant.claim("next", pool)
    tenant.refused("next", "PoolExhausted")
    assert tenant.answered("next") == "10.0.0.2"
    assert moment() >= entry["until"]


def test_address_of_a_claim_is_not_lost_to_a_wrong_edit(tenant: Tenant) -> None:
    """Somebody removes the entry of a living claim: the IPAddress still says who has the address."""
    pool = opened(tenant, "10.0.0.1-10.0.0.9")
    write(tenant, pool, {"1": None})
    tenant.claim("next", pool)
    assert tenant.answered("next") == "10.0.0.2"

    def holders() -> dict[str, str]:
        (block,) = tenant.blocks(pool)
        return {offset: entry["holder"].rpartition("/")[2] for offset, entry in block["spec"]["entries"].items()}

    until(lambda: holders() == {"1": "first", "2": "next"}, "the entry is back")


def test_entry_of_a_claim_that_never_was_is_cleared(tenant: Tenant) -> None:
    """As after a restore of an old backup: an address that nobody holds is found and freed."""
    pool = opened(tenant, "10.0.0.1-10.0.0.9")
    ghost = f"IPAddressClaim/{tenant.namespace}/ghost"
    write(tenant, pool, {"2": {"state": "Allocated", "holder": ghost, "uid": "no-such-uid", "since": moment()}})
    until(lambda: "2" not in tenant.blocks(pool)[0]["spec"]["entries"], "the entry is gone")
    tenant.claim("next", pool)
    assert tenant.answered("next") == "10.0.0.2"


def test_deleted_block_is_made_again_from_the_objects(tenant: Tenant) -> None:
    pool = opened(tenant, "10.0.0.1-10.0.0.9")
    (block,) = tenant.blocks(pool)
    tenant.witness.delete(BLOCK, None, block["metadata"]["name"])
    tenant.claim("next", pool)
    assert tenant.answered("next") == "10.0.0.2"
    tenant.delete(CLAIM, "first")
    tenant.gone(CLAIM, "first")
    until(lambda: [*tenant.blocks(pool)[0]["spec"]["entries"]] == ["2"], "the block knows what is left")


@pytest.mark.parametrize(
    "entries",
    [
        {"256": {"state": "Reserved", "holder": "x", "since": "2026-01-01T00:00:00Z"}},
        {"x": {"state": "Reserved", "holder": "x", "since": "2026-01-01T00:00:00Z"}},
        {"2": {"state": "Mine", "holder": "x", "since": "2026-01-01T00:00:00Z"}},
        {"2": {"state": "Reserved", "holder": "", "since": "2026-01-01T00:00:00Z"}},
        {"2": {"state": "Reserved", "holder": "x"}},
    ],
    ids=["offset-too-high", "no-offset", "unknown-state", "nobody", "no-time"],
)
def test_impossible_entries_are_refused(tenant: Tenant, entries: Json) -> None:
    pool = opened(tenant, "10.0.0.1-10.0.0.9")
    with pytest.raises(Refused) as refused:
        write(tenant, pool, entries)
    assert refused.value.code == 422
