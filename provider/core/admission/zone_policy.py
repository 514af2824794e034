"""The policy of a zone: a NIC on its bridge is on one of the namespace's own networks, or the object is refused.

The zone's facts are literals in the text, not a parameter: a parameter that is forced away denies every machine of
everybody, and an edit of the bridge that waits for machines to go would leave the old bridge unguarded.
"""

from collections.abc import Iterable

from provider.core.admission import cel
from provider.core.admission.documents import PREFIX, Pair, Rule, pair
from provider.core.admission.facts import MOST_NICS, Setting, ZoneFacts
from provider.core.admission.nics import IN_CLUSTER_POOL, devices, spec_of, variables
from provider.core.admission.table import COLUMNS, NETWORKS_ANNOTATION, UNTAGGED

PLURALS = ("proxmoxmachines", "proxmoxmachinetemplates")

ADVICE = "use one of these, or ask the platform's admin for a network (kubectl get pxnet shows yours)"

LINES = (
    f"namespaceObject.metadata.?annotations[?{cel.text(NETWORKS_ANNOTATION)}].orValue('').split('\\n')"
    f".map(line, line.split(' ')).filter(line, size(line) == {COLUMNS})"
)
"""CEL: the namespace's lines of the table: zone, network, bridge, VLAN, pools, CIDRs."""

ON_THE_PLACE = "line[2] == nic.bridge && line[3] == nic.vlan"


def policy_name(zone: str) -> str:
    return f"{PREFIX}-zone-{zone}"


def zone_of(policy: str) -> str | None:
    """The zone that a policy of this name is of; None for another's."""
    prefix = policy_name("")
    return policy.removeprefix(prefix) if policy.startswith(prefix) else None


def unchanged(version: str) -> str:
    """CEL: nothing about the NICs is new: a machine stays what it is when its network has gone."""
    after, before = (devices(version, spec_of(root)) for root in ("object", "oldObject"))
    return f"(oldObject != null && {after} == {before})"


NOT_ENDING = "!has(object.metadata.deletionTimestamp)"


def zone_policy(facts: ZoneFacts, setting: Setting) -> Pair:
    """The policy and binding of a zone."""
    names = sorted({name.lower() for name in (*facts.bridges, *facts.uplink_bridges)})
    nics = devices(setting.version, spec_of("object"))
    bridge = "nic.?bridge.orValue('').lowerAscii()"
    touches = f"{nics}.exists(nic, {bridge} in {cel.texts(names)} || {bridge}.matches({_of_one_vlan(names)}))"
    return pair(
        policy_name(facts.name),
        setting,
        PLURALS,
        conditions={
            "not-being-deleted": NOT_ENDING,
            "on-the-bridge": touches,
            "new": f"!{unchanged(setting.version)}",
        },
        variables={**variables(setting.version), **_variables(facts)},
        rules=(
            # Here too, although another policy asks for it: what is not read below must not pass.
            Rule(
                f"size(variables.devices) <= {MOST_NICS}",
                f"variables.root + '.network: ' + string(size(variables.devices)) + ' NICs, at most {MOST_NICS} "
                f"are possible'",
                "too many NICs",
            ),
            Rule(
                "size(variables.problems) == 0",
                "variables.problems[0]",
                f"a NIC on the bridge of zone {facts.name} is not on a network of this namespace",
            ),
        ),
    )


def _of_one_vlan(names: Iterable[str]) -> str:
    """CEL: the pattern of the bridges that Proxmox makes of a bridge for one VLAN, where that does not know VLANs."""
    return cel.text(f"^({'|'.join(names)})v[0-9]+$")


def _variables(facts: ZoneFacts) -> dict[str, str]:
    here = cel.texts(sorted(facts.bridges))
    listed = cel.joined(
        "line[1]",
        "' (bridge '",
        "line[2]",
        f"(line[3] == '{UNTAGGED}' ? ', no VLAN' : ', VLAN ' + line[3])",
        "', pools '",
        "line[4]",
        "')'",
    )
    return {
        "lines": LINES,
        "yours": f"variables.lines.filter(line, line[2] in {here}).map(line, {listed})",
        "offered": cel.joined(
            "'namespace '",
            "object.metadata.namespace",
            "(size(variables.yours) == 0 "
            f"? {cel.text(f' has no network on the bridge of zone {facts.name}: ask its admin for one')} "
            f": ' may use there: ' + variables.yours.join(', ') + {cel.text('; ' + ADVICE)})",
        ),
        "problems": f"variables.nics.map(nic, {_problem(facts)}).filter(problem, problem != '')",
    }


def _problem(facts: ZoneFacts) -> str:
    """CEL: what is wrong with a NIC, '' for nothing."""
    bridges, uplinks = cel.texts(sorted(facts.bridges)), cel.texts(sorted(facts.uplink_bridges))
    reserved = cel.texts(str(vlan) for vlan in sorted(facts.uplink_vlans))
    lower = cel.texts(sorted(name.lower() for name in facts.bridges))
    lower_uplinks = cel.texts(sorted(name.lower() for name in facts.uplink_bridges))
    derived = _of_one_vlan(sorted(name.lower() for name in (*facts.bridges, *facts.uplink_bridges)))
    zone = facts.name
    bridge = "nic.field + '.bridge: '"
    place = cel.joined(
        "nic.field",
        "': bridge '",
        "nic.bridge",
        f"(nic.vlan == '{UNTAGGED}' ? ' without a VLAN' : ' VLAN ' + nic.vlan)",
    )
    known = f"line[4].split(',').map(pool, {cel.text(IN_CLUSTER_POOL + '/')} + pool)"
    pools_fit = f"nic.pools.all(pool, pool in {known})"
    wrong_pools = f"nic.pools.filter(pool, !variables.lines.exists(line, {ON_THE_PLACE} && pool in {known}))"
    return cel.first_true(
        (
            (
                f"nic.bridge in {uplinks} || nic.bridge.lowerAscii() in {lower_uplinks}",
                cel.joined(
                    bridge, "nic.bridge", cel.text(f" is an uplink of zone {zone}, which no tenant may use; "),
                    "variables.offered",
                ),
            ),
            (
                f"nic.bridge.lowerAscii().matches({derived})",
                cel.joined(
                    bridge, "nic.bridge",
                    cel.text(f" is what Proxmox makes for one VLAN of a bridge of zone {zone}; name bridge and VLAN: "),
                    "variables.offered",
                ),
            ),
            (f"!(nic.bridge.lowerAscii() in {lower})", "''"),
            (
                f"!(nic.bridge in {bridges})",
                cel.joined(
                    bridge, "nic.bridge",
                    cel.text(f" is almost a bridge of zone {zone}; write its name as the zone does: "),
                    f"{bridges}.join(' or ')",
                ),
            ),
            (
                f"nic.vlan in {reserved}",
                cel.joined(
                    "nic.field + '.vlan: '", "nic.vlan",
                    cel.text(f" is kept for the uplink of zone {zone}, which no tenant may use; "), "variables.offered",
                ),
            ),
            (
                f"!variables.lines.exists(line, {ON_THE_PLACE})",
                cel.joined(
                    place, cel.text(f" is no network of this namespace in zone {zone}: "), "variables.offered"
                ),
            ),
            (
                f"!variables.lines.exists(line, {ON_THE_PLACE} && {pools_fit})",
                cel.joined(
                    place, "': pool '", f"{wrong_pools}.join(', ')",
                    cel.text(f" is not one of this network's in zone {zone} (name them as {IN_CLUSTER_POOL}): "),
                    "variables.offered",
                ),
            ),
        ),
        "''",
    )  # fmt: skip
