"""The HTTP server around a simulation: who may ask, which faults are due, and errors worded as PVE words them."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable

from aiohttp import web

from e2e.pve.errors import Forbidden, NotImplementedByPve, PveError, Unauthenticated
from e2e.pve.routes import agent, cluster, nodes, qemu, simulator, storage
from e2e.pve.simulation import SIMULATION, USER, Simulation, simulation
from e2e.pve.state import Token

API = "/api2/json"
MAX_BODY_BYTES = 64 * 1024**2
_SCHEME = "PVEAPIToken="
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(held: Simulation) -> web.Application:
    app = web.Application(middlewares=[_answer_errors, _admit], client_max_size=MAX_BODY_BYTES)
    app[SIMULATION] = held
    for part in (cluster, nodes, qemu, storage, agent, simulator):
        app.add_routes(part.routes)
    return app


def authenticate(header: str | None, tokens: Simulation) -> Token:
    """Check `Authorization: PVEAPIToken=user@realm!name=secret`; raises Unauthenticated with PVE's own words."""
    if header is None or not header.startswith(_SCHEME):
        raise Unauthenticated("No ticket")
    identity, _, secret = header.removeprefix(_SCHEME).partition("=")
    user, bang, name = identity.partition("!")
    if not bang or not secret:
        raise Unauthenticated("unable to parse API token")
    token = tokens.cluster.tokens.get(identity)
    if token is None:
        raise Unauthenticated(f"no such token '{name}' for user '{user}'")
    if not hmac.compare_digest(token.secret.encode(), secret.encode()):
        raise Unauthenticated("invalid token value!")
    return token


@web.middleware
async def _answer_errors(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Every refusal gets its own reason phrase; a path or method that is not simulated gets 501, as in PVE."""
    try:
        return await handler(request)
    except PveError as refusal:
        return _refused(refusal)
    except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
        return _refused(NotImplementedByPve(request.method, request.path.removeprefix(API)))


@web.middleware
async def _admit(request: web.Request, handler: _Handler) -> web.StreamResponse:
    held = simulation(request)
    if request.path.startswith(API + "/"):
        token = authenticate(request.headers.get("Authorization"), held)
        path = request.path.removeprefix(API)
        if token.read_only and request.method != "GET":
            raise Forbidden(path, "VM.Config.Options")
        request[USER] = token.identity
        fault = held.faults.refusal_of_request(request.method, path)
        if fault is not None:
            raise PveError(fault.status, fault.message)
    held.tasks.advance(held.clock())
    return await handler(request)


def _refused(refusal: PveError) -> web.Response:
    reason = "".join(char if char.isprintable() else " " for char in refusal.reason)
    answer: dict[str, object] = {"data": None, "message": reason}
    if refusal.errors:
        answer["errors"] = refusal.errors
    return web.json_response(answer, status=refusal.status, reason=reason)
