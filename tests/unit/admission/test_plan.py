"""Which policies there should be, and what they are told."""

import pytest

from provider.api.zone import ProxmoxNetworkZone
from provider.core.admission.documents import agrees
from provider.core.admission.facts import VERSIONS, Setting, Templates, ZoneFacts
from provider.core.admission.plan import newest_version, templates_of, wanted_tenants, wanted_zone, zone_facts
from provider.core.admission.zone_policy import policy_name, zone_of
from tests.unit.networks.cases import offer, span


def zone(name: str = "lab", **spec: object) -> ProxmoxNetworkZone:
    return ProxmoxNetworkZone.model_validate({"metadata": {"name": name}, "spec": {"bridge": "vmbr7", **spec}})


def test_a_zone_guards_its_bridge_and_those_its_networks_are_still_on():
    facts = zone_facts(
        "lab", zone(uplink={"bridges": ["vmbr0"], "vlans": [2, 1]}), [offer(span("10.0.0.10"), bridge="vmbr6")]
    )
    assert facts == ZoneFacts("lab", ("vmbr6", "vmbr7"), ("vmbr0",), (1, 2))


def test_a_zone_that_is_gone_is_guarded_while_a_network_is_on_its_bridge():
    assert zone_facts("lab", None, [offer(span("10.0.0.10"))]) == ZoneFacts("lab", ("vmbr7",))
    assert zone_facts("lab", None, []) is None
    assert wanted_zone(None, Setting()) is None


def test_the_tenants_policy_is_there_while_a_zone_or_a_network_is():
    assert wanted_tenants({}, 0, Setting()) is None
    assert wanted_tenants({}, 1, Setting()) is not None
    assert wanted_tenants({"lab": zone()}, 0, Setting()) is not None


def test_what_zones_allow_to_be_cloned_adds_up():
    zones = [zone(templates={"ids": [9001, 9000]}), zone(), zone(templates={"tags": ["safe"]})]
    allowed = templates_of(zones)
    assert allowed == [Templates((9000, 9001)), Templates(tags=("safe",))]
    policy = wanted_tenants({str(number): each for number, each in enumerate(zones)}, 0, Setting())
    assert policy is not None
    text = str(policy.policy["spec"]["validations"])
    assert "in [9000, 9001]" in text
    assert "['safe']" in text


@pytest.mark.parametrize(
    ("served", "newest"),
    [
        ({"v1alpha1": True, "v1alpha2": True}, "v1alpha2"),
        ({"v1alpha1": True, "v1alpha2": False}, "v1alpha1"),
        ({"v1alpha1": True}, "v1alpha1"),
        ({"v1": True}, None),
    ],
)
def test_the_newest_served_version_is_judged(served, newest):
    versions = [{"name": name, "served": yes} for name, yes in served.items()]
    assert newest_version({"spec": {"versions": versions}}, VERSIONS) == newest


def test_before_capmox_is_there_its_newest_version_is_judged():
    assert newest_version(None, VERSIONS) == "v1alpha2"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_policy_judges_one_version_everywhere_but_in_exempt_namespaces(version):
    made = wanted_zone(ZoneFacts("lab", ("vmbr7",)), Setting(version, ("kube-system", "a")))
    assert made is not None
    constraints = made.policy["spec"]["matchConstraints"]
    assert [rule["apiVersions"] for rule in constraints["resourceRules"]] == [[version]]
    assert constraints["matchPolicy"] == "Equivalent"
    assert constraints["namespaceSelector"]["matchExpressions"][0]["values"] == ["a", "kube-system"]
    assert made.policy["spec"]["failurePolicy"] == "Fail"
    assert made.binding["spec"] == {"policyName": made.name, "validationActions": ["Deny"]}


def test_policies_are_known_by_their_names():
    assert zone_of(policy_name("a-b.c")) == "a-b.c"
    assert zone_of("pxnet-system-tenants") is None
    assert zone_of("pxnet-system-guard-pools") is None


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ({"a": 1, "filled": "in"}, {"a": 1}, True),
        ({"a": 2}, {"a": 1}, False),
        ({}, {"a": []}, True),
        ({"a": {"b": [1]}}, {"a": {"b": []}}, False),
        ({"a": [{"x": 1, "y": 2}]}, {"a": [{"x": 1}]}, True),
        ({"a": [{"x": 1}, {"x": 2}]}, {"a": [{"x": 1}]}, False),
        ({}, {"a": {"b": []}}, True),
        ({}, {"a": {"b": 1}}, False),
    ],
)
def test_what_the_api_server_fills_in_is_no_difference(found, wanted, same):
    assert agrees(found, wanted) is same
