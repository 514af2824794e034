"""For random zones, tables and machines, the policies say what a plain Python oracle says.

Asked by dry runs of the real API server, once with capmox's kinds of today and once with those of its 0.7.
"""

from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provider.core.admission.facts import Setting, ZoneFacts
from provider.core.admission.table import NETWORKS_ANNOTATION, Line, write
from provider.core.admission.zone_policy import zone_policy
from tests.attacks.caller import Caller
from tests.attacks.ground import Ground, until
from tests.attacks.oracle import Nic, Place, Zone, allowed
from tests.attacks.worlds import World, item_of, machines, worlds

HOME = "drawn"
MACHINES = 60
"""Machines asked about in each world: making a world costs a second, asking some milliseconds."""


class Drawn:
    """A namespace whose table, and two zones whose policies, become what is drawn."""

    def __init__(self, caller: Caller, version: str) -> None:
        self._caller, self._version, self._number = caller, version, 0
        caller.must("create", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
        self.verdicts: Counter[bool] = Counter()

    def become(self, world: World) -> World:
        """Bring it about and wait until the server judges by it, which a mark in each of its parts tells."""
        self._number += 1
        marks = [f"mark{self._number}z{number}" for number in range(len(world.zones))]
        zones = [
            replace(zone, uplink_bridges=(*zone.uplink_bridges, mark))
            for zone, mark in zip(world.zones, marks, strict=True)
        ]
        known = Place(zones[0].bridge, 2000 + self._number, ("mark-inet",))
        world = World(tuple(zones), (*world.places, known))
        setting = Setting(self._version, ("kube-system",))
        for number, zone in enumerate(zones):
            facts = ZoneFacts(f"drawn-{number}", (zone.bridge,), zone.uplink_bridges, zone.uplink_vlans)
            pair = zone_policy(facts, setting)
            for document in (pair.policy, pair.binding):
                self._caller.must("apply", document)
        lines = [
            Line("drawn-0", f"n{number}", place.bridge, place.vlan, place.pools, ("10.0.0.0/24",))
            for number, place in enumerate(world.places)
        ]
        annotations = {NETWORKS_ANNOTATION: write(lines)}
        home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME, "annotations": annotations}}
        self._caller.must("patch", home)
        for mark in marks:
            until(lambda mark=mark: not self.lets((Nic(mark, None),)), f"zones are drawn: {mark}")  # type: ignore[misc]
        until(lambda: self.lets((Nic(known.bridge, known.vlan),)), "the table is drawn")
        return world

    def lets(self, nics: tuple[Nic, ...], *, template: bool = False) -> bool:
        """What the API server says; an answer that is neither yes nor a refusal of the content fails the test."""
        answer = self._caller.send("create", item_of(nics, self._version, HOME, template=template), dry=True)
        assert answer.code in (201, 403, 422), f"{answer.code} {answer.message}"
        assert "resulted in error" not in answer.message, answer.message
        return answer.accepted


def compare(drawn: Drawn, version: str) -> None:
    @settings(max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(world=worlds(), data=st.data())
    def agree(world: World, data: st.DataObject) -> None:
        world = drawn.become(world)
        for _ in range(MACHINES):
            nics, template = data.draw(machines(world, version))
            wanted = allowed(world.zones, world.places, nics, template=template)
            drawn.verdicts[wanted] += 1
            assert drawn.lets(nics, template=template) is wanted, f"{world}\n{nics} template={template}"

    agree()
    assert min(drawn.verdicts[True], drawn.verdicts[False]) > 50, f"one-sided: {drawn.verdicts}"


def test_todays_capmox(ground: Ground) -> None:
    compare(Drawn(ground.caller, "v1alpha2"), "v1alpha2")


def test_capmox_07(old_ground: Ground) -> None:
    compare(Drawn(old_ground.caller, "v1alpha1"), "v1alpha1")


def test_the_oracle_knows_right_from_wrong() -> None:
    zone, place = Zone("p1", ("up0",), (1,)), Place("p1", 5, ("n-inet",))
    own = Nic("p1", 5, (("InClusterIPPool", "n-inet"),))
    assert allowed([zone], [place], [own], template=False)
    for nic in (replace(own, vlan=6), replace(own, bridge="P1"), replace(own, pools=(("InClusterIPPool", "x"),))):
        assert not allowed([zone], [place], [own, nic], template=False)
    assert not allowed([zone], [place], [own] * 11, template=True)
