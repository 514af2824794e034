"""Where the API server is and how to prove who we are: kubeconfig or service account, read by the official client.

Only its configuration loaders are used: they know exec plugins, OIDC and rotating token files.
"""

import os
import ssl
from pathlib import Path
from typing import Any

from kubernetes import config
from kubernetes.client import Configuration


class AccessError(Exception):
    """No usable credentials; the message says where they were looked for."""


class Access:
    """One API server and our credentials for it."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self.server: str = configuration.host.rstrip("/")
        self.ssl = _ssl_context(configuration)

    async def headers(self) -> dict[str, str]:
        """The authorization header, if any. Cheap: the loader re-reads a rotating token only when it is due."""
        token = (
            self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
            or self._configuration.access_token
        )
        if token:
            return {"Authorization": token if token.lower().startswith(("bearer ", "basic ")) else f"Bearer {token}"}
        if self._configuration.username:
            return {"Authorization": str(self._configuration.get_basic_auth_token())}
        return {}

    def kopf_fields(self) -> dict[str, Any]:
        """The same credentials as keyword arguments of kopf's ConnectionInfo."""
        configuration = self._configuration
        scheme, _, token = (
            configuration.get_api_key_with_prefix("BearerToken", alias="authorization") or ""
        ).rpartition(" ")
        return {
            "server": self.server,
            "ca_path": configuration.ssl_ca_cert,
            "insecure": not configuration.verify_ssl,
            "username": configuration.username or None,
            "password": configuration.password or None,
            "scheme": scheme or ("Bearer" if token else None),
            "token": token or None,
            "certificate_path": configuration.cert_file,
            "private_key_path": configuration.key_file,
        }


def find_access(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """Credentials from --kubeconfig, KUBECONFIG, the pod's service account or ~/.kube/config, in this order.

    Raises:
        AccessError: none of them is there, or the one that is cannot be used.
    """
    path = kubeconfig or os.environ.get("KUBECONFIG")
    configuration = Configuration()
    try:
        if path is None and "KUBERNETES_SERVICE_HOST" in os.environ:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
            return Access(configuration)
        for part in (path or "~/.kube/config").split(os.pathsep):
            if path is not None and not Path(part).expanduser().is_file():
                raise AccessError(f"kubeconfig {part!r} does not exist; correct --kubeconfig or KUBECONFIG")
        config.load_kube_config(  # type: ignore[no-untyped-call]
            path, context=context, client_configuration=configuration, persist_config=False
        )
        return Access(configuration)
    except (config.ConfigException, OSError, ValueError, TypeError, KeyError) as error:
        where = f"kubeconfig {path!r}" if path else "no --kubeconfig, KUBECONFIG or service account, and ~/.kube/config"
        raise AccessError(f"{where} cannot be used: {error}") from error


def _ssl_context(configuration: Configuration) -> ssl.SSLContext | bool:
    if not configuration.host.startswith("https"):
        return False
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context
