"""The NICs of a ProxmoxMachine or its template as CEL, one shape for both of capmox's API versions.

A NIC becomes a map: field (as a tenant knows it), name, bridge ('' where there is none), vlan ('-' for untagged), pools
(each as <kind>/<name>).
"""

from provider.core.admission.facts import MOST_NICS

IN_CLUSTER_POOL = "InClusterIPPool"


def spec_of(root: str) -> str:
    """CEL: the spec of a machine or a cluster; for a template the one that is copied from it."""
    return f"({root}.kind.endsWith('Template') ? {root}.spec.template.spec : {root}.spec)"


def devices(version: str, spec: str) -> str:
    """CEL: all NICs of a spec, as they are written, the first one first."""
    network = f"{spec}.?network"
    if version == "v1alpha1":
        first = f"{network}.?default.hasValue() ? [{network}.?default.value()] : []"
        return f"(({first}) + {network}.?additionalDevices.orValue([]))"
    return f"{network}.?networkDevices.orValue([])"


def variables(version: str) -> dict[str, str]:
    """Variables: `root` (the spec's field), `spec`, `before` (an update's old spec), `devices`, ten as `nics`."""
    numbers = f"[{', '.join(map(str, range(MOST_NICS)))}]"
    nic = "variables.devices[i]"
    entries = {
        "field": f"variables.root + {_field(version)}",
        "name": _name(version, nic),
        "bridge": f"{nic}.?bridge.orValue('')",
        "vlan": f"({nic}.?vlan.hasValue() ? string({nic}.vlan) : '-')",
        "pools": _pools(version, nic),
    }
    literal = ", ".join(f"'{key}': dyn({value})" for key, value in entries.items())
    root = "(object.kind.endsWith('Template') ? 'spec.template.spec' : 'spec')"
    found = {
        "root": root,
        "spec": spec_of("object"),
        "before": f"(oldObject == null ? {{}} : {spec_of('oldObject')})",
        "devices": devices(version, "variables.spec"),
    }
    if version == "v1alpha1":
        found["first"] = "(variables.spec.?network.?default.hasValue() ? 1 : 0)"
    found["nics"] = f"{numbers}.filter(i, i < size(variables.devices)).map(i, {{{literal}}})"
    return found


def _field(version: str) -> str:
    if version == "v1alpha1":
        further = "'.network.additionalDevices[' + string(i - variables.first) + ']'"
        return f"(i < variables.first ? '.network.default' : {further})"
    return "'.network.networkDevices[' + string(i) + ']'"


def _name(version: str, nic: str) -> str:
    if version == "v1alpha1":
        return f"(i < variables.first ? 'net0' : {nic}.?name.orValue(''))"
    return f"{nic}.?name.orValue('net0')"


def _pools(version: str, nic: str) -> str:
    reference = "pool.kind + '/' + pool.name"
    if version == "v1alpha1":
        sides = [f"({nic}.?{side}.hasValue() ? [{nic}.{side}] : [])" for side in ("ipv4PoolRef", "ipv6PoolRef")]
        return f"({' + '.join(sides)}).map(pool, {reference})"
    return f"{nic}.?ipPoolRef.orValue([]).map(pool, {reference})"
