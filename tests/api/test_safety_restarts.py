"""The API server and its store go away in the middle of a storm, by request and by kill -9."""

import threading

from e2e.bed.bed import Bed
from e2e.bed.control_plane import API_SERVER, ETCD
from tests.api import storm
from tests.api.running import provider
from tests.api.tenant import Tenant
from tests.api.witness import ADDRESS, until

CLAIMS = 1000


def test_restarts_of_api_server_and_etcd_in_a_storm(control_plane: Bed, place: Tenant) -> None:
    pool = place.pool(["10.0.0.0/16"], prefix=16)
    names = [f"c{index:04}" for index in range(CLAIMS)]
    restarts = ((API_SERVER, True), (ETCD, True), (API_SERVER, False))
    step = CLAIMS // len(restarts) + 1
    with provider(control_plane, "--no-leader-elect") as process:
        for number, (part, kill) in enumerate(restarts):
            batch = names[number * step : (number + 1) * step]
            before = len(place.witness.list(ADDRESS, place.namespace))
            failures: list[BaseException] = []
            creating = threading.Thread(target=_create, args=(place, batch, failures))
            creating.start()
            aim = before + 50
            until(lambda aim=aim: len(place.witness.list(ADDRESS, place.namespace)) >= aim, "the storm runs", 30.0)  # type: ignore[misc]
            control_plane.control_plane.restart(part, kill=kill)
            creating.join()
            assert failures == []
        storm.wait_until_answered(place, names)
        storm.judge(place, pool, names)
        assert process.alive


def _create(place: Tenant, names: list[str], failures: list[BaseException]) -> None:
    try:
        storm.create(place, place.pool_ref("pool"), names)
    except BaseException as error:
        failures.append(error)
        raise
