"""The command line of `python -m provider`."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Flags:
    kubeconfig: str | None
    context: str | None
    namespace: str | None
    pools: str
    leader_elect: bool
    lease_namespace: str | None
    health_address: str
    metrics_address: str
    log_format: str
    log_level: str
    workers: int


def parse(arguments: Sequence[str] | None = None) -> Flags:
    """Read the flags; a wrong one ends the process with one line and status 2."""
    parser = argparse.ArgumentParser(
        prog="python -m provider",
        description="pxnet: IPAM provider and network controller for Cluster API on Proxmox.",
    )
    parser.add_argument(
        "--kubeconfig", help="kubeconfig file; else KUBECONFIG, the pod's service account, ~/.kube/config"
    )
    parser.add_argument("--context", help="context of the kubeconfig; else its current one")
    parser.add_argument("--namespace", help="look at claims and pools of this namespace only; else at all")
    parser.add_argument(
        "--pools",
        choices=("all", "networks"),
        default="all",
        help="all: answer every InClusterIPPool and GlobalInClusterIPPool, instead of the in-cluster provider "
        "(default); networks: only those of our networks, beside it",
    )
    parser.add_argument(
        "--leader-elect", action=argparse.BooleanOptionalAction, default=True, help="work only while holding the lease"
    )
    parser.add_argument("--lease-namespace", help="namespace of the lease; else the pod's, or default")
    parser.add_argument(
        "--health-address", type=_address, default=":9440", help="host:port of grpc.health.v1 (default :9440)"
    )
    parser.add_argument(
        "--metrics-address", type=_address, default=":8080", help='host:port of /metrics (default :8080); "" for none'
    )
    parser.add_argument("--log-format", choices=("json", "console"), default="console")
    parser.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    parser.add_argument(
        "--workers", type=_workers, default=48, help="claims in work at one time, 1 to 500 (default 48)"
    )
    return Flags(**vars(parser.parse_args(arguments)))


def _address(text: str) -> str:
    if text and not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:\s]*):\d{1,5}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no host:port, for instance 127.0.0.1:8080 or :8080")
    return text


def _workers(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 500:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 500")
    return int(text)
