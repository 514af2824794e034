"""Manifests: variables, certificates' places, service names, flags of our own Deployment."""

import pytest

from e2e.bed.cert_manager_stand_in import injections
from e2e.bed.kubelet.hosts import LOCAL, render
from e2e.bed.manifests import substitute, without_conversion
from e2e.bed.pxnet import adjusted, merged_flags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--x=${X}", "--x=set"),
        ("--x=${X:=other}", "--x=set"),
        ("--y=${Y:=:8443}", "--y=:8443"),
        ('${Z=""}', ""),
        ("no variable, $(X) and $X", "no variable, $(X) and $X"),
    ],
)
def test_variables_are_filled(text, expected):
    assert substitute({"args": [text]}, {"X": "set"}) == {"args": [expected]}


def test_a_variable_without_value_is_named():
    with pytest.raises(KeyError, match="MISSING"):
        substitute(["${MISSING}"], {})


def test_definitions_are_left_alone():
    crd = {"kind": "CustomResourceDefinition", "spec": {"description": "${X}"}}
    assert substitute([crd], {}) == [crd]


def test_a_definition_without_its_webhook():
    crd = {"spec": {"group": "g", "conversion": {"strategy": "Webhook", "webhook": {}}}}
    assert without_conversion(crd) == {"spec": {"group": "g", "conversion": {"strategy": "None"}}}


def test_the_bundle_goes_wherever_it_is_lacking():
    webhooks = [{"clientConfig": {}}, {"clientConfig": {"caBundle": "NEW"}}, {"clientConfig": {"caBundle": "OLD"}}]
    patch = injections({"webhooks": webhooks}, "NEW")
    assert [step["path"] for step in patch] == [
        "/webhooks/0/clientConfig/caBundle",
        "/webhooks/2/clientConfig/caBundle",
    ]
    crd = {"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {}}}}}}
    assert injections(crd, "NEW") == [
        {"op": "add", "path": "/spec/conversion/webhook/clientConfig/caBundle", "value": "NEW"}
    ]
    assert injections({"spec": {"conversion": {"strategy": "None"}}}, "NEW") == []


def slice_of(service, *endpoints):
    labels = {"kubernetes.io/service-name": service}
    listed = [{"addresses": [address], "conditions": {"ready": ready}} for address, ready in endpoints]
    return {"metadata": {"namespace": "shop", "labels": labels}, "endpoints": listed}


def test_service_names_lead_to_ready_pods_only():
    slices = [slice_of("web", ("10.0.0.8", False), ("10.0.0.9", True)), slice_of("db", ("10.0.0.7", False))]
    assert render(slices) == LOCAL + "10.0.0.9 web.shop.svc web.shop.svc.cluster.local web.shop\n"


def test_a_slice_without_endpoints_or_service_is_nothing():
    assert render([{"metadata": {"namespace": "shop"}}, {**slice_of("web"), "endpoints": None}]) == LOCAL


@pytest.mark.parametrize(
    ("shipped", "wanted", "expected"),
    [
        (["-m", "provider", "--pools=all"], ["--pools=networks"], ["-m", "provider", "--pools=networks"]),
        (["--leader-elect", "--v=1"], ["--no-leader-elect"], ["--v=1", "--no-leader-elect"]),
        (["--a=1"], [], ["--a=1"]),
    ],
)
def test_flags_replace_their_own_name(shipped, wanted, expected):
    assert merged_flags(shipped, wanted) == expected


def test_only_deployments_are_adjusted():
    containers = [{"name": "manager", "args": ["--x=1"]}]
    deployment = {"kind": "Deployment", "spec": {"replicas": 1, "template": {"spec": {"containers": containers}}}}
    other = {"kind": "Service", "spec": {}}
    done = adjusted([deployment, other], ["--x=2"], 3)
    assert done[1] is other
    assert done[0]["spec"]["replicas"] == 3
    assert done[0]["spec"]["template"]["spec"]["containers"][0]["args"] == ["--x=2"]
    assert containers[0]["args"] == ["--x=1"]
