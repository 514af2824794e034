"""Paths of the API server, and the kind in them."""

import pytest

from provider.edge.kube.resources import BLOCKS, CLAIMS, NAMESPACES, Resource, plural_of


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (CLAIMS, (), "/apis/ipam.cluster.x-k8s.io/v1beta2/ipaddressclaims"),
        (CLAIMS, ("t", "web", "status"), "/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/t/ipaddressclaims/web/status"),
        (BLOCKS, (None, "b"), "/apis/proxmox.cozystack.io/v1alpha1/addressblocks/b"),
        (BLOCKS, ("t", "b"), "/apis/proxmox.cozystack.io/v1alpha1/addressblocks/b"),
        (NAMESPACES, (None, "t"), "/api/v1/namespaces/t"),
        (Resource("", "v1", "pods", "Pod"), ("t", "web"), "/api/v1/namespaces/t/pods/web"),
    ],
)
def test_path(resource, where, path):
    assert resource.path(*where) == path
    assert plural_of(path) == resource.plural


@pytest.mark.parametrize("path", ["/apis", "/api/v1", "/apis/ipam.cluster.x-k8s.io/v1beta2", "/version"])
def test_a_path_without_kind(path):
    assert plural_of(path) == "discovery"
