"""Credentials as the official client's loaders leave them."""

import asyncio
from pathlib import Path

from provider.edge.kube.auth import find_access

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: a-token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def test_a_token_of_a_kubeconfig_becomes_the_authorization_header_here_and_in_kopf(tmp_path: Path):
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    access = find_access(str(path))
    assert asyncio.run(access.headers()) == {"Authorization": "Bearer a-token"}
    assert (access.kopf_fields()["scheme"], access.kopf_fields()["token"]) == ("Bearer", "a-token")
