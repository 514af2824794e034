"""kubeconfig files, as kubectl reads them: several merged, paths relative to the file they stand in.

Read here and not by the official client: to import that takes 18 MB and a second of CPU at every start, for this.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]


class AccessError(Exception):
    """No usable credentials; the message says where they were looked for."""


@dataclass(frozen=True, slots=True)
class Login:
    """What one context says of its API server and its user. PEM texts, whichever way they were given.

    Attributes:
        verify: whether the server's certificate is checked.
        token_file: read again and again, since tokens in files rotate.
        command: the user's `exec` section: a program that prints credentials.
    """

    server: str
    ca: str | None = None
    verify: bool = True
    certificate: str | None = None
    key: str | None = None
    token: str | None = None
    token_file: Path | None = None
    username: str | None = None
    password: str | None = None
    command: Mapping[str, Any] | None = None


def read_kubeconfig(paths: Sequence[Path], context: str | None = None) -> Login:
    """The named context, or the current one.

    Raises:
        AccessError: a file cannot be read, or does not say what is asked.
    """
    shown = ":".join(map(str, paths))
    found: dict[str, dict[str, tuple[Json, Path]]] = {"clusters": {}, "users": {}, "contexts": {}}
    current = context
    for path in paths:
        content = _load(path)
        current = current or content.get("current-context")
        for kind, entries in found.items():
            for entry in content.get(kind) or ():
                # The first file that has a name wins, as with kubectl.
                entries.setdefault(entry["name"], (entry.get(kind[:-1]) or {}, path.parent))
    if not current:
        raise AccessError(f"kubeconfig {shown!r} has no current-context; choose one with --context")
    place, _ = _entry(found, "contexts", current, shown)
    cluster, beside = _entry(found, "clusters", place.get("cluster") or "", shown)
    if not cluster.get("server"):
        raise AccessError(f"kubeconfig {shown!r}: cluster {place['cluster']!r} has no server")
    user, beside_user = _entry(found, "users", place["user"], shown) if place.get("user") else ({}, beside)
    if "auth-provider" in user:
        text = "auth-provider is gone from Kubernetes; use exec, a token or a certificate"
        raise AccessError(f"kubeconfig {shown!r}: user {place['user']!r}: {text}")
    token_file = user.get("tokenFile")
    return Login(
        server=str(cluster["server"]).rstrip("/"),
        ca=_pem(cluster, "certificate-authority", beside),
        verify=not cluster.get("insecure-skip-tls-verify", False),
        certificate=_pem(user, "client-certificate", beside_user),
        key=_pem(user, "client-key", beside_user),
        token=user.get("token"),
        token_file=beside_user / token_file if token_file else None,
        username=user.get("username"),
        password=user.get("password"),
        command=user.get("exec"),
    )


def _load(path: Path) -> Json:
    try:
        content = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise AccessError(f"kubeconfig '{path}' does not exist; correct --kubeconfig or KUBECONFIG") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise AccessError(f"kubeconfig '{path}' cannot be used: {error}") from error
    if not isinstance(content, dict) or content.get("kind") not in ("Config", None):
        raise AccessError(f"kubeconfig '{path}' cannot be used: it holds no object of kind Config")
    return content


def _entry(found: Mapping[str, Mapping[str, tuple[Json, Path]]], kind: str, name: str, shown: str) -> tuple[Json, Path]:
    if name not in found[kind]:
        there = ", ".join(sorted(found[kind])) or "none"
        raise AccessError(f"kubeconfig {shown!r} cannot be used: it has no {kind[:-1]} {name!r} (it has: {there})")
    return found[kind][name]


def _pem(section: Json, name: str, beside: Path) -> str | None:
    """A certificate or key: given as data, or as the path of a file."""
    try:
        if section.get(f"{name}-data"):
            return base64.b64decode(section[f"{name}-data"], validate=True).decode()
        return (beside / section[name]).read_text() if section.get(name) else None
    except (OSError, UnicodeDecodeError, binascii.Error) as error:
        raise AccessError(f"{name} of the kubeconfig cannot be read: {error}") from error
