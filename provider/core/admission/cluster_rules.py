"""What is asked of ProxmoxClusters and their templates: ranges and endpoint on own networks, secrets of their own."""

from provider.core.admission import cel
from provider.core.admission.documents import Rule
from provider.core.admission.facts import CLUSTER_KINDS

IS_CLUSTER = f"object.kind in {cel.texts(CLUSTER_KINDS)}"
IS_UPDATE = "oldObject != null"
ENDING = "has(object.metadata.deletionTimestamp)"
FAMILIES = ("ipv4Config", "ipv6Config")
SPEC = "variables.spec"


def cluster_variables() -> dict[str, str]:
    """`cidrs` and `networks` of the namespace, `stray`: what lies outside of them. It needs `lines`."""
    fields = [
        f"{SPEC}.?{side}.?addresses.orValue([]).filter(entry, !{_inside('entry')})"
        f".map(entry, variables.root + '.{side}.addresses: ' + entry)"
        for side in FAMILIES
    ]
    zones = [
        f"{SPEC}.?zoneConfig.orValue([]).map(zone, zone.?{side}.?addresses.orValue([])"
        f".filter(entry, !{_inside('entry')})"
        f".map(entry, variables.root + '.zoneConfig[' + zone.zone + '].{side}.addresses: ' + entry))"
        ".filter(found, size(found) > 0).map(found, found[0])"
        for side in FAMILIES
    ]
    host = f"{SPEC}.?controlPlaneEndpoint.?host.orValue('')"
    return {
        "cidrs": "variables.lines.map(line, line[5]).join(',').split(',')",
        "networks": "variables.lines.map(line, line[1] + ' (' + line[5] + ')').join(', ')",
        "stray": " + ".join((*fields, *zones)),
        # As in a URL, where an IPv6 address stands in brackets.
        "host": f"{host}.replace('[', '').replace(']', '')",
    }


def _inside(entry: str) -> str:
    """CEL: whether an address, a range or a CIDR lies in one of the namespace's subnets."""
    ends = f"{entry}.split('-')"
    single = f"(isIP({entry}) ? cidr(net).containsIP({entry}) : isCIDR({entry}) && cidr(net).containsCIDR({entry}))"
    both = " && ".join(f"isIP({ends}[{end}]) && cidr(net).containsIP({ends}[{end}])" for end in (0, 1))
    return f"variables.cidrs.exists(net, size({ends}) == 1 ? {single} : size({ends}) == 2 && {both})"


def _same(*fields: str) -> str:
    """CEL: whether these fields are as they were."""
    pairs = [f"{SPEC}.?{field} == variables.before.?{field}" for field in fields]
    return f"({IS_UPDATE} && {' && '.join(pairs)})"


def cluster_rules() -> list[Rule]:
    """The rules. Without a network a namespace's clusters are somewhere else, which is nobody's affair here."""
    free = f"!({IS_CLUSTER}) || {ENDING}"
    advice = "' lies in no network of this namespace; its networks are: ' + variables.networks"
    # A name cannot be judged here. What is no canonical address but has a colon is one all the same, for others.
    name = "(!isIP(variables.host) && !variables.host.matches('[:%]'))"
    secret = f"{SPEC}.?credentialsRef.?namespace.orValue('')"
    return [
        Rule(
            # Also of one that is being deleted: capmox goes on using its credentials.
            f"!({IS_CLUSTER}) || {_same('credentialsRef')} || {secret} == '' || {secret} == object.metadata.namespace",
            f"variables.root + '.credentialsRef.namespace: ' + {secret} + ' is not this namespace; use a Secret of "
            "namespace ' + object.metadata.namespace",
            "credentialsRef must name a Secret of this namespace",
        ),
        Rule(
            f"{free} || size(variables.lines) == 0 || {_same(*FAMILIES, 'zoneConfig')} || size(variables.stray) == 0",
            f"variables.stray[0] + {advice}",
            "the cluster's ranges must lie in the namespace's networks",
        ),
        Rule(
            f"{free} || size(variables.lines) == 0 || {_same('controlPlaneEndpoint', 'externalManagedControlPlane')}"
            f" || {SPEC}.?externalManagedControlPlane.orValue(false) || {name} "
            "|| (isIP(variables.host) && variables.cidrs.exists(net, cidr(net).containsIP(variables.host)))",
            f"variables.root + '.controlPlaneEndpoint.host: ' + variables.host + {advice}",
            "the control plane's endpoint must lie in the namespace's networks",
        ),
    ]
