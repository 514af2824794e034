"""The provider's Deployment: two replicas of which one leads, without any privilege, with nothing to write to."""

from collections.abc import Sequence
from typing import Any

from config.rbac import ACCOUNT, NAMESPACE
from provider.edge.health import LIVENESS, READINESS

Json = dict[str, Any]

IMAGE = "pxnet:v0.1.0"
LABELS = {"app.kubernetes.io/name": "pxnet", "app.kubernetes.io/component": "provider"}
HEALTH_PORT, METRICS_PORT = 9440, 8080
FLAGS = (
    "--leader-elect",
    "--log-format=json",
    f"--health-address=:{HEALTH_PORT}",
    f"--metrics-address=:{METRICS_PORT}",
)


def namespace() -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }


def deployment(pools: str) -> Json:
    """The Deployment; `pools` is the provider's flag: "all", or "networks" beside the in-cluster provider."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": ACCOUNT, "namespace": NAMESPACE, "labels": LABELS},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": LABELS},
            "template": {
                "metadata": {"labels": LABELS},
                "spec": {
                    "serviceAccountName": ACCOUNT,
                    "terminationGracePeriodSeconds": 30,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 65532,
                        "runAsGroup": 65532,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    # As Cluster API's own providers: at home on control-plane nodes, and not both on one.
                    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
                    "topologySpreadConstraints": [
                        {
                            "maxSkew": 1,
                            "topologyKey": "kubernetes.io/hostname",
                            "whenUnsatisfiable": "ScheduleAnyway",
                            "labelSelector": {"matchLabels": LABELS},
                        }
                    ],
                    "containers": [_container([*FLAGS, f"--pools={pools}"])],
                },
            },
        },
    }


def _container(flags: Sequence[str]) -> Json:
    return {
        # clusterctl waits for containers of this name only.
        "name": "manager",
        "image": IMAGE,
        "command": ["python", "-m", "provider"],
        "args": [*flags],
        "ports": [
            {"name": "health", "containerPort": HEALTH_PORT},
            {"name": "metrics", "containerPort": METRICS_PORT},
        ],
        "livenessProbe": _probe(LIVENESS, 20),
        "readinessProbe": _probe(READINESS, 5),
        "resources": {
            # Measured: about 85 MB after the imports, 132 MB with 10,000 addresses.
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _probe(service: str, period: int) -> Json:
    return {
        "grpc": {"port": HEALTH_PORT, "service": service},
        "initialDelaySeconds": 2,
        "periodSeconds": period,
        "timeoutSeconds": 5,
    }
