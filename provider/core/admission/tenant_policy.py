"""The policy of what is no single zone's affair, kept as long as there is any zone."""

from collections.abc import Sequence

from provider.core.admission import cel
from provider.core.admission.cluster_rules import cluster_rules, cluster_variables
from provider.core.admission.documents import PREFIX, Pair, Rule, pair
from provider.core.admission.facts import Setting, Templates
from provider.core.admission.machine_rules import machine_rules, machine_variables
from provider.core.admission.nics import variables
from provider.core.admission.zone_policy import LINES

NAME = f"{PREFIX}-tenants"
PLURALS = ("proxmoxmachines", "proxmoxmachinetemplates", "proxmoxclusters", "proxmoxclustertemplates")

CONVERSION = "cluster.x-k8s.io/conversion-data"
SMUGGLED = f"metadata.?annotations[?{cel.text(CONVERSION)}]"
SAME_SPEC = "oldObject != null && object.?spec == oldObject.?spec"


def tenant_policy(setting: Setting, templates: Sequence[Templates] = ()) -> Pair:
    """The policy and binding; `templates` are what the zones allow to be cloned."""
    new, rules = f"!({SAME_SPEC})", [*machine_rules(templates), *cluster_rules()]
    if setting.version == "v1alpha1":
        new += f" || oldObject.{SMUGGLED} != object.{SMUGGLED}"
        rules.append(_conversion_rule())
    return pair(
        NAME,
        setting,
        PLURALS,
        conditions={"new": new},
        variables={
            "lines": LINES,
            **variables(setting.version),
            **machine_variables(setting.version),
            **cluster_variables(),
        },
        rules=rules,
    )


def _conversion_rule() -> Rule:
    """Nothing reads the annotation until a newer capmox is installed, which then takes from it what nobody judged."""
    kept = f"oldObject != null && oldObject.{SMUGGLED} == object.{SMUGGLED}"
    return Rule(
        f"!object.{SMUGGLED}.hasValue() || has(object.metadata.deletionTimestamp) || ({kept})",
        f"'metadata.annotations: leave {CONVERSION} out; it is for the API server''s own conversions'".replace(
            "''", "\\'"
        ),
        f"the annotation {CONVERSION} is for the API server alone",
    )
