"""The pools of a network: what is made, changed, removed, and never touched."""

import copy

from provider.core.addresses import Family
from provider.core.network_pools import plan_pools, pool_body
from tests.unit.networks.cases import BLUE, offer, span

V4 = span("10.0.0.10-10.0.0.20")
V6 = span("fd00::10-fd00::20", prefix=64, gateway="fd00::1", family=Family.IPv6)


def made(*spans):
    wanted = offer(*spans)
    return [pool_body(BLUE, wanted, each) for each in spans]


def names(bodies):
    return [body["metadata"]["name"] for body in bodies]


def test_a_pool_is_whole_from_its_first_request():
    (body,) = made(V4)
    assert body == {
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
        "kind": "InClusterIPPool",
        "metadata": {
            "name": "blue-inet",
            "namespace": "team-a",
            "labels": {"app.kubernetes.io/managed-by": "pxnet", "topology.kubernetes.io/proxmox-zone": "default"},
            "annotations": {
                "cluster.x-k8s.io/paused": "true",
                "proxmox.cozystack.io/network": "blue",
                "metric": "100",
                "ipam.capmox.cluster.x-k8s.io/gateway-metric": "100",
                "ipam.capmox.cluster.x-k8s.io/ip-family": "ipv4",
            },
            "finalizers": ["ipam.cluster.x-k8s.io/ProtectPool"],
        },
        "spec": {
            "addresses": ["10.0.0.10-10.0.0.20"],
            "prefix": 24,
            "gateway": "10.0.0.1",
            "addressReuseGracePeriodSeconds": 60,
        },
    }


def test_names_survive_capmoxs_conversion():
    assert names(made(V4, V6)) == ["blue-inet", "blue-inet6"]
    assert names(made(V6)) == ["blue-v6"]


def test_pools_that_agree_are_left_alone():
    plan = plan_pools(BLUE, offer(V4, V6), made(V4, V6))
    assert (plan.create, plan.patch, plan.delete, plan.conflicts) == ((), {}, (), ())
    assert plan.remaining == ("blue-inet", "blue-inet6")


def test_marks_that_were_edited_away_come_back_and_others_marks_stay():
    (body,) = made(V4)
    del body["metadata"]["annotations"]["cluster.x-k8s.io/paused"]
    body["metadata"]["annotations"]["theirs"] = "kept"
    assert plan_pools(BLUE, offer(V4), [body]).patch == {
        "blue-inet": {"metadata": {"annotations": {"cluster.x-k8s.io/paused": "true"}}}
    }


def test_an_edit_of_the_table_reaches_the_pool():
    longer = span("10.0.0.10-10.0.0.30", gateway=None)
    assert plan_pools(BLUE, offer(longer), made(V4)).patch == {
        "blue-inet": {"spec": {"addresses": ["10.0.0.10-10.0.0.30"], "gateway": None}}
    }


def test_a_pool_of_somebody_else_is_never_touched():
    (body,) = made(V4)
    theirs = copy.deepcopy(body)
    del theirs["metadata"]["labels"]
    plan = plan_pools(BLUE, offer(V4), [theirs])
    assert (plan.create, plan.patch, plan.conflicts, plan.remaining) == ((), {}, ("blue-inet",), ())
    assert plan_pools(BLUE, None, [theirs]).delete == ()


def test_without_a_family_its_pool_goes_and_a_deleted_one_is_waited_for():
    plan = plan_pools(BLUE, offer(V4), made(V4, V6))
    assert plan.delete == ("blue-inet6",)
    (ending,) = made(V4)
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    plan = plan_pools(BLUE, offer(V4), [ending])
    assert (plan.create, plan.patch, plan.delete, plan.ending) == ((), {}, (), ("blue-inet",))
