"""Two providers that both work at the same time, lease or no lease."""

from e2e.bed.bed import Bed
from tests.api import storm
from tests.api.running import provider, start_provider
from tests.api.tenant import Tenant
from tests.api.witness import LEASE, until

CLAIMS = 1000


def test_two_without_a_lease_in_a_storm(control_plane: Bed, place: Tenant) -> None:
    """Each block write of the one makes the other's fail, and neither gives what the other gave."""
    pool = place.pool(["10.0.0.0/16"], prefix=16)
    names = [f"c{index:04}" for index in range(CLAIMS)]
    kept = [name for index, name in enumerate(names) if index % 10]
    with provider(control_plane, "--no-leader-elect") as one, provider(control_plane, "--no-leader-elect") as two:
        for start in range(0, CLAIMS, 200):
            batch = names[start : start + 200]
            storm.create(place, pool, batch)
            storm.delete(place, [name for name in batch if name not in kept])
        storm.wait_until_answered(place, kept)
        storm.judge(place, pool, kept)
        assert one.alive
        assert two.alive


def test_standby_takes_over_after_a_stop_and_after_a_kill(control_plane: Bed, place: Tenant) -> None:
    """A leader that stops gives the lease back; one that is killed is missed once its lease has run out."""
    lease = ("--leader-elect", "--lease-namespace", place.namespace)
    pool = place.pool(["10.0.0.0/24"])
    first = start_provider(control_plane, *lease)
    place.claim("by-first", pool)
    assert place.answered("by-first") == "10.0.0.1"
    second = start_provider(control_plane, *lease, ready=None)
    third = None
    try:
        holder = place.witness.list(LEASE, place.namespace)[0]["spec"]["holderIdentity"]
        assert holder.endswith(f"_{first.pid}")
        assert first.stop() == 0
        place.claim("by-second", pool)
        assert place.answered("by-second", timeout=12) == "10.0.0.2"
        third = start_provider(control_plane, *lease, ready=None)
        second.kill()
        place.claim("by-third", pool)
        assert place.answered("by-third", timeout=35) == "10.0.0.3"
        until(
            lambda: place.witness.list(LEASE, place.namespace)[0]["spec"]["holderIdentity"].endswith(f"_{third.pid}"),
            "the third one holds the lease",
        )
    finally:
        for process in (first, second, third):
            if process is not None:
                process.stop()
