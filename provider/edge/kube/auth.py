"""Where the API server is and how to prove who we are: a kubeconfig, or the pod's service account."""

import asyncio
import base64
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from provider.edge.kube.exec_credentials import run_command
from provider.edge.kube.kubeconfig import AccessError, Login, read_kubeconfig

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

FRESH = 60.0
"""Seconds for which a token read from a file is used; the kubelet renews it long before it ends."""


class Access:
    """One API server and our credentials for it."""

    def __init__(self, login: Login, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._token, self._until = login.token, 0.0
        if login.command is not None:
            given = run_command(login.command)
            self._token, self._until = given.token, monotonic() + given.seconds
            login = replace(login, certificate=given.certificate, key=given.key) if given.certificate else login
        self._login = login
        self.server = login.server
        self.ssl = _ssl_context(login)

    async def headers(self) -> dict[str, str]:
        """The authorization header, if any. Cheap: a token is only asked for again when it is due."""
        if self._is_due():
            await asyncio.to_thread(self._renew)
        return self._headers()

    def kopf_fields(self) -> dict[str, Any]:
        """The same credentials, as new as they can be, as keyword arguments of kopf's ConnectionInfo."""
        if self._login.token_file is not None or self._is_due():
            self._renew()
        login = self._login
        return {
            "server": login.server,
            "ca_data": login.ca,
            "insecure": not login.verify,
            "username": login.username,
            "password": login.password,
            "scheme": "Bearer" if self._token else None,
            "token": self._token,
            "certificate_data": login.certificate,
            "private_key_data": login.key,
        }

    def _headers(self) -> dict[str, str]:
        if self._token:
            return {"Authorization": f"Bearer {self._token}"}
        if self._login.username:
            pair = f"{self._login.username}:{self._login.password or ''}"
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        return {}

    def _is_due(self) -> bool:
        renewed = self._login.token_file is not None or (self._login.command is not None and self._token is not None)
        return renewed and self._monotonic() >= self._until

    def _renew(self) -> None:
        if self._login.token_file is not None:
            self._token, self._until = _read_token(self._login.token_file), self._monotonic() + FRESH
        elif self._login.command is not None:
            given = run_command(self._login.command)
            self._token, self._until = given.token, self._monotonic() + given.seconds


def find_access(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """Credentials from --kubeconfig, KUBECONFIG, the pod's service account or ~/.kube/config, in this order.

    Raises:
        AccessError: none of them is there, or the one that is cannot be used.
    """
    path = kubeconfig or os.environ.get("KUBECONFIG")
    if path is not None:
        return Access(read_kubeconfig([Path(part).expanduser() for part in path.split(os.pathsep) if part], context))
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return Access(in_cluster(os.environ, SERVICE_ACCOUNT))
    home = Path("~/.kube/config").expanduser()
    if not home.is_file():
        raise AccessError(
            f"no credentials: no --kubeconfig, KUBECONFIG or service account, and {home} does not exist; give one"
        )
    return Access(read_kubeconfig([home], context))


def in_cluster(environment: Mapping[str, str], directory: Path) -> Login:
    """What Kubernetes puts into every pod.

    Raises:
        AccessError: the pod has no token, or no CA.
    """
    host = environment["KUBERNETES_SERVICE_HOST"]
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        ca = (directory / "ca.crt").read_text()
    except OSError as error:
        raise AccessError(f"the service account cannot be used: {error}") from error
    _read_token(directory / "token")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Login(server, ca, token_file=directory / "token")


def _read_token(path: Path) -> str:
    try:
        token = path.read_text().strip()
    except OSError as error:
        raise AccessError(f"the token cannot be read: {error}") from error
    if not token:
        raise AccessError(f"the token file {path} is empty")
    return token


def _ssl_context(login: Login) -> ssl.SSLContext | bool:
    if not login.server.startswith("https"):
        return False
    try:
        context = ssl.create_default_context(cadata=login.ca)
        if not login.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if login.certificate is not None:
            # The ssl module takes them from files alone.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                file.write(f"{login.certificate}\n{login.key or ''}")
                file.flush()
                context.load_cert_chain(file.name)
    except (ssl.SSLError, ValueError) as error:
        raise AccessError(f"the certificates for {login.server} cannot be used: {error}") from error
    return context
