"""The story: a zone, clusters that come up on it, a range that runs full, and the book of who has what."""

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import yaml

from e2e.bed.api import Api
from e2e.bed.providers import apply_all
from e2e.demo import cast, trespass
from e2e.demo.book import lines
from e2e.demo.ground import DemoError, Ground
from e2e.demo.news import changes
from e2e.demo.screen import Screen
from e2e.demo.table import FAILED, Key, Object, Row, is_answered, rows
from e2e.demo.watch import CLAIMS, NETWORKS, Watch

MACHINE_SECONDS = 180.0
CONDITIONS = (
    'custom-columns=NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status,'
    'REASON:.status.conditions[?(@.type=="Ready")].reason,MESSAGE:.status.conditions[?(@.type=="Ready")].message'
)


class Story:
    """Told on one ground, to one screen; the chapters build on each other."""

    def __init__(self, ground: Ground, screen: Screen, api: Api, watch: Watch) -> None:
        self._ground = ground
        self._screen = screen
        self._api = api
        self._watch = watch

    async def tell(self) -> None:
        await self.zone()
        await self.clusters()
        await self.trespass()
        await self.on_demand()
        await self.full_range()
        await self.book()

    async def zone(self) -> None:
        """The admin's one object becomes networks in the tenants' namespaces."""
        self._screen.chapter(
            "The admin owns the networks",
            "One zone: a bridge, and which tenant has which VLAN and which addresses on it. Tenants cannot change it.",
        )
        self._screen.yaml(cast.zone_text(self._ground.bridge))
        await apply_all(self._api, [cast.zone(self._ground.bridge)])
        wanted = [key for key in cast.NETWORKS]
        await self._watch.until(lambda: all(self._ready(key) for key in wanted), "the zone's networks are Ready")
        await self._ground.run("wait", f"pxzone/{cast.ZONE}", "--for=condition=Ready", "--timeout=20s")
        await self._show("get", "pxzone,pxnet", "-A")

    async def clusters(self) -> None:
        """Machines of three clusters ask for addresses through capmox."""
        self._screen.chapter(
            "Three clusters of two tenants come up",
            "shop and search share team-a's network blue, with the very same range in both of their ProxmoxClusters; "
            "media is on team-b's green. Stock capmox makes the machines and claims, pxnet answers.",
        )
        networks = {key: item for key in cast.NETWORKS if (item := self._watch.find(NETWORKS, key)) is not None}
        await apply_all(self._api, cast.clusters(networks, self._ground.node, self._ground.template))
        with self._screen.table(self._rows, self._progress):
            await self._follow_machines(cast.machines())
        found = self._rows()
        slowest = max((row.answered_ms for row in found if row.answered_ms is not None), default=0.0)
        self._screen.good(f"{len(found)} machines run; the slowest claim was answered in {slowest:.0f} ms")

    async def _follow_machines(self, wanted: int) -> None:
        before: list[Row] = []
        deadline = time.monotonic() + MACHINE_SECONDS
        while True:
            found = self._rows()
            if not self._screen.terminal:
                for line in changes(before, found):
                    self._screen.say(f"{self._screen.elapsed:5.1f} s  {line}")
            before = found
            if len(found) >= wanted and all(row.ready for row in found):
                return
            broken = next((row for row in found if row.phase == FAILED), None)
            if broken is not None:
                raise DemoError(f"machine {broken.namespace}/{broken.machine} cannot be made: ask `kubectl describe`")
            if time.monotonic() > deadline:
                states = ", ".join(f"{row.machine} {row.phase}" for row in found if not row.ready)
                raise DemoError(f"not after {MACHINE_SECONDS:.0f} s: all machines run ({states or 'none made'})")
            await self._watch.change(1.0)

    async def trespass(self) -> None:
        """A tenant's way onto another's VLAN ends in the API server."""
        self._screen.chapter(
            "team-b tries team-a's network",
            "Policies in the API server hold every machine, template and cluster to the networks of its namespace. "
            "What they say is for the tenant to read, and names nobody else's networks.",
        )
        theirs, own = (self._watch.find(NETWORKS, key) for key in (("team-a", "blue"), ("team-b", "green")))
        assert theirs is not None
        assert own is not None
        for attempt in trespass.attempts(theirs, own):
            text = trespass.manifest(attempt, own["status"]["bridge"], self._ground.node, self._ground.template)
            allowed, said = await self._ground.try_to_create(text)
            self._screen.command(f"kubectl create --dry-run=server -f {attempt.file}    # {attempt.what}", said)
            if allowed != attempt.allowed:
                raise DemoError(f"{attempt.what} was {'allowed' if allowed else 'refused'}, and should not have been")

    async def on_demand(self) -> None:
        """A tenant asks for a network by name and gets VLAN and addresses."""
        self._screen.chapter(
            "team-b asks for a network",
            "No row in the zone's table, only a name: the lowest free VLAN and subnet of the zone are team-b's.",
        )
        self._screen.yaml(yaml.safe_dump(cast.CACHE, sort_keys=False))
        await apply_all(self._api, [cast.CACHE])
        namespace, name = cast.CACHE_KEY
        await self._watch.until(lambda: self._ready(cast.CACHE_KEY), f"network {namespace}/{name} is Ready")
        await self._show("get", "pxnet", "-n", namespace, name)

    async def full_range(self) -> None:
        """Three claims for two addresses."""
        namespace, _ = cast.TINY
        self._screen.chapter(
            "A range runs full",
            "team-b's network tiny has two addresses. The third claim says what it waits for, and gets the first "
            "address that is free again.",
        )
        found = self._watch.find(NETWORKS, cast.TINY)
        assert found is not None
        pool = found["status"]["ipv4"]["pool"]
        for name in ("first", "second"):
            await apply_all(self._api, [cast.claim(name, pool)])
            await self._answered((namespace, name))
        await apply_all(self._api, [cast.claim("third", pool)])
        await self._watch.until(
            lambda: self._reason((namespace, "third")) == "PoolExhausted", "third says why it waits"
        )
        claims = ("get", "ipaddressclaims", "-n", namespace, "first", "second", "third")
        columns = "-o custom-columns=..."  # as it is run, it is longer than its answer
        self._screen.command(f"kubectl {' '.join(claims)} {columns}", await self._ground.run(*claims, "-o", CONDITIONS))
        begun = time.monotonic()
        await self._show("delete", "ipaddressclaim", "-n", namespace, "first")
        await self._answered((namespace, "third"))
        took = time.monotonic() - begun
        await self._show("get", "ipaddresses.ipam.cluster.x-k8s.io", "-n", namespace, "second", "third")
        self._screen.good(
            f"third got first's address {took:.1f} s after first was deleted: the zone lets addresses rest for 3 s, "
            "by the API server's clock of whole seconds"
        )

    async def book(self) -> None:
        """Who has what."""
        self._screen.chapter(
            "Who has what",
            "Every address stands in one book per network, written before anybody hears of it: no two machines can "
            "ever get the same one, whichever pool or cluster asks.",
        )
        await self._show("get", "pxnet", "-A")
        await self._show("get", "pxblock")
        blocks = json.loads(await self._ground.run("get", "pxblock", "-o", "json"))["items"]
        self._screen.command("kubectl get pxblock -o yaml    # of it, the tenants' entries", _text(blocks))

    async def _answered(self, key: Key) -> None:
        def answered() -> bool:
            claim = self._watch.find(CLAIMS, key)
            return claim is not None and is_answered(claim)

        await self._watch.until(answered, f"claim {key[0]}/{key[1]} is answered")

    async def _show(self, *arguments: str) -> None:
        output = await self._ground.run(*arguments)
        self._screen.command("kubectl " + " ".join(arguments), output)

    def _rows(self) -> list[Row]:
        return rows(self._watch.seen(), datetime.now(UTC))

    def _progress(self) -> str:
        return f"{self._screen.elapsed:.0f} s"

    def _ready(self, key: Key) -> bool:
        return _condition(self._watch.find(NETWORKS, key), "status") == "True"

    def _reason(self, key: Key) -> str:
        return _condition(self._watch.find(CLAIMS, key), "reason")


def _text(blocks: Sequence[Object]) -> str:
    books = tuple(f"network/{tenant}/" for tenant in cast.TENANTS)
    return "\n".join(lines(block for block in blocks if block["spec"]["book"].startswith(books)))


def _condition(item: Object | None, part: str) -> str:
    """A part of the object's Ready condition, "" without one."""
    conditions = (item or {}).get("status", {}).get("conditions", ())
    return next((str(each[part]) for each in conditions if each["type"] == "Ready"), "")
