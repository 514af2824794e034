"""The figures of isolation: what admission costs, how fast networks are given on demand, what a zone's status costs.

One zone is filled up to 4,000 networks, each in a namespace of its own. The cost of admission is that of a dry-run
CREATE of an honest ProxmoxMachine, always in the same namespace, in turn with one of a claim, which no policy judges:
so a machine that gets busier meanwhile weighs on both. It is told as a multiple of the same CREATE before there was any
zone, and so any policy.
"""

import asyncio
import statistics
import time
from dataclasses import dataclass

from e2e.bed.bed import Bed
from e2e.bed.parts import Parts
from e2e.bed.progress import Progress
from e2e.bench import kinds, sides
from e2e.bench.demand import NAME, BareDemand, Demand, zone_body
from e2e.bench.errors import BenchError
from e2e.bench.figures import Aim, Figure
from e2e.bench.load import claim_body
from provider.api.ipam import IPAM_GROUP, Json
from provider.edge.kube.auth import find_access
from provider.edge.kube.client import Client
from provider.edge.kube.errors import KubeError
from provider.edge.kube.resources import CLAIMS, NETWORKS, POOLS, PROXMOX_MACHINES, ZONES

PARTS = Parts(controllers=False)
ZONE, BRIDGE = "bench", "vmbr7"
FULL = 4_000
RATE = 250
"""Networks over which a rate is taken: the first of the zone, and the last."""
SAMPLES = 300
FIRST = "tenant-0000"

COST = Aim(1.3, at_most=True)
SPEED = Aim(0.5)
JUDGED = Aim(2.5, at_most=True)
WRITTEN = Aim(1_000, at_most=True, of_bare=False)


@dataclass(slots=True)
class Bench:
    bed: Bed
    kube: Client
    progress: Progress

    async def run(self) -> list[Figure]:
        await kinds.install(self.bed.kubeconfig, capmox=True)
        demand = Demand(self.kube, ZONE)
        names = [f"tenant-{number:04d}" for number in range(FULL)]
        with self.progress.step(f"{FULL} namespaces"):
            await demand.namespaces(names)
        with self.progress.step("machines without a policy"):
            nothing = await self._cost(1)
        async with demand.watched():
            async with sides.ours(self.bed):
                await self.kube.create(ZONES, zone_body(ZONE, BRIDGE))
                with self.progress.step("the first network, and machines in a zone of one"):
                    await demand.ask(names[:1])
                    vlan = demand.status[FIRST]["vlan"]
                    await self._judged(vlan)
                    one = await self._cost(vlan)
                with self.progress.step(f"{RATE} networks, ours"):
                    early = await demand.ask(names[1 : RATE + 1])
                with self.progress.step(f"up to {FULL - RATE} networks"):
                    await demand.ask(names[RATE + 1 : FULL - RATE])
                written = len(demand.zone_writes)
                with self.progress.step(f"the last {RATE} of {FULL} networks, ours"):
                    late = await demand.ask(names[FULL - RATE :])
                    await asyncio.sleep(2 * RATE / 100)  # the zone is written when its networks come to rest
                writes = demand.zone_writes[written:]
                with self.progress.step(f"machines in a zone of {FULL}"):
                    full = await self._cost(vlan)
            bare = await self._bare()
        await self._check(names)
        return [
            Figure("vlans_per_second", "networks/s", SPEED, early, bare),
            Figure(f"vlans_per_second_{FULL}", "networks/s", SPEED, late, bare),
            Figure("admission_1", "x no policy", JUDGED, one / nothing, 1.0),
            Figure(f"admission_{FULL}", "x no policy, against a zone of 1", COST, full / nothing, one / nothing),
            Figure(f"zone_writes_{FULL}", "bytes/network", WRITTEN, sum(writes) / RATE),
        ]

    async def _bare(self) -> float:
        """The same writes by somebody who decides nothing."""
        demand = Demand(self.kube, "bare")
        names = [f"bare-{number:04d}" for number in range(RATE)]
        await demand.namespaces(names)
        writer = BareDemand(self.kube, "bare", "vmbr8")
        working = asyncio.create_task(writer.run())
        try:
            async with demand.watched():
                with self.progress.step(f"{RATE} networks, bare"):
                    return await demand.ask(names, writer.take)
        finally:
            working.cancel()

    async def _cost(self, vlan: int) -> float:
        """A judged CREATE as a multiple of an unjudged one: the medians of samples taken in turn."""
        machine, claim = _machine(vlan), claim_body(FIRST, "probe")
        judged: list[float] = []
        unjudged: list[float] = []
        for _ in range(SAMPLES):
            judged.append(await self._dry_run(PROXMOX_MACHINES.path(FIRST), machine))
            unjudged.append(await self._dry_run(CLAIMS.path(FIRST), claim))
        return statistics.median(judged) / statistics.median(unjudged)

    async def _dry_run(self, path: str, body: Json) -> float:
        begun = time.monotonic()
        await self.kube.request("POST", path, body, query={"dryRun": "All"})
        return time.monotonic() - begun

    async def _judged(self, vlan: int) -> None:
        """Wait until a machine on another VLAN is refused: before that nothing is measured of admission."""
        wrong = _machine(vlan % 4094 + 1)
        for _ in range(600):
            try:
                await self._dry_run(PROXMOX_MACHINES.path(FIRST), wrong)
            except KubeError:
                return
            await asyncio.sleep(0.1)
        raise BenchError("a machine on a foreign VLAN is not refused: there is no policy in force")

    async def _check(self, names: list[str]) -> None:
        """Raises BenchError if a VLAN was given twice: then no figure means anything."""
        listed = [item for item in await self.kube.list_all(NETWORKS) if item["spec"]["zone"] == ZONE]
        vlans = {item["status"]["vlan"] for item in listed}
        if not len(vlans) == len(listed) == len(names):
            raise BenchError(f"{len(listed)} networks have {len(vlans)} VLANs; {len(names)} were asked for")


def _machine(vlan: int) -> Json:
    pool = {"apiGroup": IPAM_GROUP, "kind": POOLS.kind, "name": f"{NAME}-inet"}
    nic = {"name": "net0", "bridge": BRIDGE, "vlan": vlan, "ipPoolRef": [pool]}
    return {
        "apiVersion": PROXMOX_MACHINES.api_version,
        "kind": PROXMOX_MACHINES.kind,
        "metadata": {"name": "probe", "namespace": FIRST},
        "spec": {"sourceNode": "pve1", "templateID": 9000, "network": {"networkDevices": [nic]}},
    }


async def measure(bed: Bed, progress: Progress) -> list[Figure]:
    """All figures of isolation; some five minutes."""
    async with Client(find_access(str(bed.kubeconfig))) as kube:
        return await Bench(bed, kube, progress).run()
