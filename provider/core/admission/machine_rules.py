"""What is asked of machines and their templates whatever the zone: NICs that can be judged, and a VM of their own."""

from collections.abc import Sequence

from provider.core.admission import cel
from provider.core.admission.documents import Rule
from provider.core.admission.facts import INFRASTRUCTURE, MACHINE_KINDS, MOST_NICS, Templates
from provider.core.admission.may import may

BRIDGE_PATTERN = "^[A-Za-z0-9_.-]+$"
"""As Proxmox has it. A comma would add parameters to the NIC's line: another bridge, or a VLAN."""

INNER_PATTERN = "^(fwbr|fwpr|fwln|tap|veth)[0-9]"
"""Bridges and links that Proxmox makes for one VM: who is on them is on that VM's segment."""

NAME_PATTERN = "^net[0-9]$"

IS_MACHINE = f"object.kind in {cel.texts(MACHINE_KINDS)}"
IS_ONE = "object.kind == 'ProxmoxMachine'"
IS_UPDATE = "oldObject != null"
ENDING = "has(object.metadata.deletionTimestamp)"

MAY_SET_THE_VM = may(INFRASTRUCTURE, "proxmoxmachines", "patch", "status")


def machine_variables(version: str) -> dict[str, str]:
    """`misplaced`: what keeps a NIC from being judged. It needs the variables of `nics`."""
    unnamed = "'.bridge: name the bridge; without it the machine keeps whatever NIC its Proxmox template has'"
    characters = "' is no name of a bridge; use letters, digits, dashes, dots and underscores'"
    inner = "' belongs to one VM; use a bridge of the Proxmox nodes'"
    names = f"'.name: ' + nic.name + ' is no NIC of Proxmox; use net0 to net{MOST_NICS - 1}'"
    problem = cel.first_true(
        (
            (f"{IS_ONE} && nic.bridge == ''", f"nic.field + {unnamed}"),
            (
                f"nic.bridge != '' && !nic.bridge.matches({cel.text(BRIDGE_PATTERN)})",
                f"nic.field + '.bridge: \"' + nic.bridge + '\"' + {characters}",
            ),
            (
                f"nic.bridge.matches({cel.text(INNER_PATTERN)})",
                f"nic.field + '.bridge: ' + nic.bridge + {inner}",
            ),
            (f"!nic.name.matches({cel.text(NAME_PATTERN)})", f"nic.field + {names}"),
        ),
        "''",
    )
    misplaced = f"variables.nics.map(nic, {problem}).filter(problem, problem != '')"
    none = f"{IS_ONE} && size(variables.devices) == 0"
    none_says = "variables.root + '.network: name every NIC and its bridge; a NIC that is not named here stays as the "
    none_says += "Proxmox template has it'"
    cases = [(none, f"[{none_says}]")]
    if version == "v1alpha1":
        first = "variables.root + '.network.default: name the first NIC and its bridge; without it the machine keeps "
        first += "the one of its Proxmox template'"
        cases.append((f"{IS_ONE} && variables.first == 0", f"[{first}]"))
    return {
        "misplaced": cel.first_true(cases, misplaced),
        "new_network": f"!({IS_UPDATE} && variables.spec.?network == variables.before.?network)",
    }


def machine_rules(templates: Sequence[Templates]) -> list[Rule]:
    """The rules; `templates` are those of all zones, which add up."""
    changing = f"!({IS_MACHINE}) || {ENDING} || !variables.new_network"
    rules = [
        Rule(
            f"{changing} || size(variables.devices) <= {MOST_NICS}",
            f"variables.root + '.network: ' + string(size(variables.devices)) + ' NICs; at most {MOST_NICS} work'",
            f"a machine has at most {MOST_NICS} NICs",
        ),
        Rule(
            f"{changing} || size(variables.misplaced) == 0",
            "variables.misplaced[0]",
            "every NIC must name its bridge",
        ),
        Rule(
            # Also while it is being deleted: a network's VLAN is returned when no machine names it any more.
            f"!({IS_ONE}) || !({IS_UPDATE}) || !variables.new_network",
            "'spec.network: the NICs of a machine do not change; change its ProxmoxMachineTemplate, or make a new "
            "machine'",
            "the NICs of a machine do not change",
        ),
        _vm_rule(),
    ]
    allowed = [entry for entry in templates if entry]
    return [*rules, _template_rule(allowed)] if allowed else rules


def _vm_rule() -> Rule:
    """Also for a machine that is being deleted: that is when capmox destroys the VM of this number, whosever it is."""
    after, before = "variables.spec.?virtualMachineID", "variables.before.?virtualMachineID"
    kept = f"({IS_UPDATE} ? {after} == {before} : !{after}.hasValue())"
    return Rule(
        f"!({IS_MACHINE}) || {kept} || ({IS_ONE} && {MAY_SET_THE_VM})",
        "variables.root + '.virtualMachineID: leave it as it is; capmox alone sets it, and destroys the VM of that "
        "number when the machine is deleted'",
        "virtualMachineID is set by capmox alone",
    )


def _template_rule(allowed: Sequence[Templates]) -> Rule:
    ids = sorted({number for entry in allowed for number in entry.ids})
    tags = sorted({tag for entry in allowed for tag in entry.tags})
    spec, old = "variables.spec", "variables.before"
    same = " && ".join(f"{spec}.?{field} == {old}.?{field}" for field in ("templateID", "templateSelector"))
    by_id = f"{spec}.?templateID.orValue(0) in [{', '.join(map(str, ids))}]"
    by_tag = f"{spec}.?templateSelector.?matchTags.orValue([]).exists(tag, tag in {cel.texts(tags)})"
    open_yet = f"object.kind == 'ProxmoxMachineTemplate' && !{spec}.?templateSelector.hasValue()"
    fits = f"({spec}.?templateID.hasValue() ? {by_id} : ({by_tag} || ({open_yet})))"
    known = []
    if ids:
        known.append(f"templateID {', '.join(map(str, ids))}")
    if tags:
        known.append(f"templateSelector.matchTags with {' or '.join(tags)}")
    return Rule(
        f"!({IS_MACHINE}) || {ENDING} || ({IS_UPDATE} && {same}) || {fits}",
        cel.joined(
            "variables.root",
            cel.text(
                ": this Proxmox template is not among those that tenants may clone (its own NICs would stay on the "
                f"machine); use {', or '.join(known)}"
            ),
        ),
        "this Proxmox template is not among those that tenants may clone",
    )
