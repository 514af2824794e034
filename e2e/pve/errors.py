"""Errors as Proxmox VE words them.

PVE puts the message into the HTTP *reason phrase*, and its clients match on that text, so each phrase here is copied
from what PVE says. Nothing here knows about HTTP beyond the status number.
"""

from __future__ import annotations

from collections.abc import Mapping


class PveError(Exception):
    """A refusal: `status` is the HTTP status, `reason` its one-line reason phrase, `errors` the fields at fault."""

    def __init__(self, status: int, reason: str, errors: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.errors = dict(errors or {})


class ServerError(PveError):
    """PVE's answer to nearly everything that is wrong with the *state*: HTTP 500 and a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(500, reason)


class ParameterError(PveError):
    """HTTP 400: what was *asked* is malformed. The body names each field at fault."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(400, "Parameter verification failed.", errors)


class Unauthenticated(PveError):
    def __init__(self, reason: str) -> None:
        super().__init__(401, reason)


class Forbidden(PveError):
    def __init__(self, path: str, privilege: str) -> None:
        super().__init__(403, f"Permission check failed ({path}, {privilege})")


class NotImplementedByPve(PveError):
    """HTTP 501: PVE (here: the simulation) has no such method. Never a silent 404."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__(501, f"Method '{method} {path}' not implemented")


def no_such_vm(node: str, vmid: int) -> ServerError:
    """capmox takes "does not exist" as proof that the VM is gone."""
    return ServerError(f"Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist")


def no_such_node(node: str) -> ServerError:
    """A node name nobody has is a failed name lookup to PVE."""
    return ServerError(
        f"hostname lookup '{node}' failed - failed to get address info for: {node}: Name or service not known"
    )


def no_such_storage(storage: str) -> ServerError:
    return ServerError(f"storage '{storage}' does not exist")
