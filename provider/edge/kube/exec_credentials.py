"""Credentials that a program prints: the `exec` section of a kubeconfig's user (client.authentication.k8s.io)."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from provider.edge.kube.kubeconfig import AccessError

TIMEOUT = 60.0
"""Seconds for the program: it may ask a server far away."""

EARLY = 10.0
"""Seconds before its end at which a credential is asked for again."""

UNLIMITED = 365 * 86400.0


@dataclass(frozen=True, slots=True)
class Given:
    """What the program gave, and for how many seconds it is good."""

    token: str | None
    certificate: str | None
    key: str | None
    seconds: float


def run_command(section: Mapping[str, Any]) -> Given:
    """Run the program and read its answer.

    Raises:
        AccessError: it cannot be run, fails, or prints no credentials.
    """
    command = [str(section.get("command") or ""), *map(str, section.get("args") or ())]
    version = section.get("apiVersion", "client.authentication.k8s.io/v1")
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    given = {item["name"]: item["value"] for item in section.get("env") or ()}
    environment = {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    what = f"the kubeconfig's credential program {command[0]!r}"
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        hint = section.get("installHint")
        raise AccessError(f"{what} cannot be run: {error}{f'; {hint}' if hint else ''}") from error
    if done.returncode != 0:
        raise AccessError(f"{what} failed with {done.returncode}: {done.stderr.strip()[:300]}")
    try:
        status = json.loads(done.stdout)["status"]
        end = status.get("expirationTimestamp")
        left = (datetime.fromisoformat(end) - datetime.now(UTC)).total_seconds() if end else UNLIMITED
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AccessError(f"{what} printed no ExecCredential: {error}") from error
    found = Given(
        status.get("token"), status.get("clientCertificateData"), status.get("clientKeyData"), max(left - EARLY, 0.0)
    )
    if found.token is None and found.certificate is None:
        raise AccessError(f"{what} printed neither a token nor a certificate")
    return found
