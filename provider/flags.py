"""The command line of `python -m provider`."""

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn


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
    admission: bool
    exempt_namespaces: tuple[str, ...] | None


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; the usage would bury it."""

    def error(self, message: str) -> NoReturn:
        print(f"pxnet: {message}; see {self.prog} --help", file=sys.stderr)
        self.exit(2)


def parse(arguments: Sequence[str] | None = None) -> Flags:
    """Read the flags; a wrong one ends the process with one line and status 2."""
    parser = _Parser(
        prog="python -m provider",
        usage="%(prog)s [flags]",
        description="pxnet: IPAM provider and network controller for Cluster API on Proxmox.",
        allow_abbrev=False,  # a flag that is added later must not change what an old command line means
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=34, width=110),
    )
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig file; else KUBECONFIG, the pod's service account, ~/.kube/config",
    )
    parser.add_argument("--context", metavar="NAME", help="context of the kubeconfig; else its current one")
    parser.add_argument(
        "--namespace", metavar="NAME", help="look at claims and pools of this namespace only; else at all"
    )
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
    parser.add_argument("--lease-namespace", metavar="NAME", help="namespace of the lease; else the pod's, or default")
    parser.add_argument(
        "--health-address",
        metavar="ADDRESS",
        type=_address,
        default=":9440",
        help="host:port of grpc.health.v1 (default :9440)",
    )
    parser.add_argument(
        "--metrics-address",
        metavar="ADDRESS",
        type=_address_or_none,
        default=":8080",
        help='host:port of /metrics (default :8080); "" for none',
    )
    parser.add_argument(
        "--log-format",
        choices=("json", "console"),
        default="console",
        help="one JSON object or one readable line an event",
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="the least that is logged (default info)",
    )
    parser.add_argument(
        "--workers", metavar="N", type=_workers, default=48, help="claims in work at one time, 1 to 500 (default 48)"
    )
    parser.add_argument(
        "--admission",
        choices=("on", "off"),
        default="on",
        help="on: keep the policies that hold tenants to their own networks (default); off: have none, and remove ours",
    )
    parser.add_argument(
        "--exempt-namespaces",
        metavar="NAMES",
        type=_namespaces,
        help="namespaces that the policies do not judge, with commas between; else our own and kube-system",
    )
    found = vars(parser.parse_args(arguments))
    return Flags(**{**found, "admission": found["admission"] == "on"})


def _address(text: str) -> str:
    found = re.fullmatch(r"(?:\[[0-9a-fA-F:]+\]|[^:\s]*):([0-9]{1,5})", text)
    if found is None or int(found[1]) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no host:port, for instance 127.0.0.1:8080 or :8080")
    return text


def _address_or_none(text: str) -> str:
    return _address(text) if text else ""


def _workers(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 500:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 500")
    return int(text)


def _namespaces(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if len(name) > 63 or re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", name) is None:
            raise argparse.ArgumentTypeError(f"{name!r} is no name of a namespace, as in kube-system,platform")
    return names
