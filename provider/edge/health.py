"""Health by grpc.health.v1, which Kubernetes' own gRPC probes ask.

Services: "" and "liveness" (the process works), "readiness" (it can do its part, leading or standing by), "leader".
"""

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

LIVENESS, READINESS, LEADER = "liveness", "readiness", "leader"
_SERVING = health_pb2.HealthCheckResponse.SERVING
_NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


class HealthError(Exception):
    """The address cannot be listened on."""


class Health:
    """The health server of this process."""

    def __init__(self) -> None:
        self._servicer = health.aio.HealthServicer()
        # Else a second process would share the port unnoticed, and a probe would ask either of them.
        self._server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, self._server)
        self.port = 0

    async def start(self, address: str) -> None:
        """Listen on host:port (":9440" is every address, port 0 a free one)."""
        try:
            self.port = self._server.add_insecure_port(address if not address.startswith(":") else f"[::]{address}")
        except RuntimeError as error:
            raise HealthError(f"--health-address {address!r} cannot be listened on: {error}") from error
        await self.set("", True)
        await self.set(LIVENESS, True)
        await self.set(READINESS, False)
        await self.set(LEADER, False)
        await self._server.start()

    async def set(self, service: str, serving: bool) -> None:
        await self._servicer.set(service, _SERVING if serving else _NOT_SERVING)

    async def stop(self) -> None:
        await self._servicer.enter_graceful_shutdown()
        await self._server.stop(0.5)
