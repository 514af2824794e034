"""The provider dies again and again in the middle of its work, and no address is lost or given twice."""

from e2e.bed.bed import Bed
from tests.api import storm
from tests.api.running import provider
from tests.api.tenant import Tenant
from tests.api.witness import ADDRESS

DEATHS = 10
CLAIMS = 1000


def test_ten_kills_in_a_storm_of_a_thousand_claims(control_plane: Bed, place: Tenant) -> None:
    """A tenth of the claims comes with each life; some are deleted, so that deaths meet releases too."""
    pool = place.pool(["10.0.0.0/16"], prefix=16)
    names = [f"c{index:04}" for index in range(CLAIMS)]
    kept = [name for index, name in enumerate(names) if index % 10]
    step = CLAIMS // DEATHS
    for life in range(DEATHS):
        with provider(control_plane, "--no-leader-elect", ready=None) as process:
            before = len(place.witness.list(ADDRESS, place.namespace))
            batch = names[life * step : (life + 1) * step]
            storm.create(place, pool, batch)
            aim = before + step // 3
            process.wait_ready(lambda aim=aim: len(place.witness.list(ADDRESS, place.namespace)) >= aim, 30.0, 0.02)  # type: ignore[misc]
            storm.delete(place, [name for name in batch if name not in kept])
            assert process.kill() == -9
    with provider(control_plane, "--no-leader-elect", ready=None):
        storm.wait_until_answered(place, kept)
        storm.judge(place, pool, kept)
        place.counted(pool, total=2**16 - 2, used=len(kept))
