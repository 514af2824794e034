"""The text of a kubeconfig file: one cluster, one user."""

import base64
from pathlib import Path
from typing import Any

import yaml

from e2e.bed.certificates import KeyPair, write_secret


def kubeconfig(server: str, authority: bytes, user: KeyPair | str) -> str:
    """YAML for `server` (https URL) trusted by `authority` (PEM), as a client certificate or a bearer token."""
    credentials: dict[str, Any]
    if isinstance(user, KeyPair):
        credentials = {"client-certificate-data": _base64(user.certificate), "client-key-data": _base64(user.key)}
    else:
        credentials = {"token": user}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bed", "cluster": {"server": server, "certificate-authority-data": _base64(authority)}}],
        "users": [{"name": "bed", "user": credentials}],
        "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": "bed", "namespace": "default"}}],
        "current-context": "bed",
    }
    return yaml.safe_dump(document, sort_keys=False)


def write_kubeconfig(path: Path, server: str, authority: bytes, user: KeyPair | str) -> Path:
    """Write it for its owner's eyes only and give the path back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_secret(path, kubeconfig(server, authority, user).encode())
    return path


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
