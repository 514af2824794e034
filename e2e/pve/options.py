"""The command line's words turned into a cluster: nodes, templates, storages, tokens."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from e2e.pve.nic import Nic
from e2e.pve.state import Cluster, Node, Storage, Token, Vm

DEFAULT_STORAGES = (
    Storage("local", frozenset({"iso", "vztmpl", "backup"})),
    Storage("vms", frozenset({"images", "rootdir"}), kind="rbd", shared=True),
)
_LEAST = {"cores": 1, "memory": 512}
_TEMPLATE_OPTIONS = ("node", "name", "tags", "cores", "memory", "bridge", "vlan")


class OptionError(ValueError):
    """An option's value is wrong; the text names the option, the value and what is allowed."""


def make_cluster(
    nodes: Sequence[str], templates: Sequence[str], tokens: Sequence[str], bridges: Sequence[str] = ()
) -> Cluster:
    """Build the cluster; raises OptionError. Templates go to the first node unless they name another."""
    known = {name: Node(name, bridges=frozenset(bridges)) for name in nodes}
    if not known:
        raise OptionError("--node: at least one is needed")
    cluster = Cluster(known, {storage.name: storage for storage in DEFAULT_STORAGES}, parse_tokens(tokens))
    for text in templates:
        cluster.put(parse_template(text, cluster))
    return cluster


def parse_listen(text: str) -> tuple[str, int]:
    """`127.0.0.1:8006` or `[::1]:0` as host and port (0..65535)."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise OptionError(f"--listen: {text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def parse_tokens(texts: Sequence[str]) -> dict[str, Token]:
    """`user@realm!name=secret`, with `,read-only` behind it for a token that may change nothing."""
    tokens: dict[str, Token] = {}
    for text in texts:
        identity, _, secret = text.removesuffix(",read-only").partition("=")
        if not secret or "@" not in identity or "!" not in identity:
            raise OptionError(f"--token: {text!r} is not user@realm!name=secret")
        tokens[identity] = Token(identity, secret, read_only=text.endswith(",read-only"))
    if not tokens:
        raise OptionError("--token: at least one is needed")
    return tokens


def parse_template(text: str, cluster: Cluster) -> Vm:
    """`9000` or `9000,node=pve2,tags=capi;ubuntu,bridge=vmbr0,vlan=999`.

    A template is small on purpose (1 core, 512 MiB): capmox leaves a clone that already equals the machine's spec
    unfinished, so a template has to differ from what is asked of it.
    """
    vmid, *words = text.split(",")
    options = dict(word.partition("=")[::2] for word in words)
    unknown = sorted(set(options) - set(_TEMPLATE_OPTIONS))
    if unknown or not vmid.isdigit():
        wrong = f"unknown option {unknown[0]!r}" if unknown else f"{vmid!r} is no VM id"
        raise OptionError(f"--template {text}: {wrong}; allowed: ID[,{'=..][,'.join(_TEMPLATE_OPTIONS)}=..]")
    node = options.get("node", next(iter(cluster.nodes)))
    if node not in cluster.nodes:
        raise OptionError(f"--template {text}: no --node {node}")
    try:
        vlan = int(options["vlan"]) if "vlan" in options else None
        sizes: dict[str, str | int] = {name: int(options.get(name, least)) for name, least in _LEAST.items()}
    except ValueError as fault:
        raise OptionError(f"--template {text}: {fault}") from fault
    nic = Nic("virtio", options.get("bridge", "vmbr0"), mac=cluster.new_mac(), tag=vlan)
    config: dict[str, str | int] = {
        **sizes,
        "net0": str(nic),
        "scsi0": f"vms:base-{vmid}-disk-0,size=10G",
        "boot": "order=scsi0",
        "agent": "1",
        "ostype": "l26",
        "smbios1": f"uuid={uuid.uuid4()}",
    }
    if options.get("tags"):
        config["tags"] = options["tags"]
    return Vm(int(vmid), node, options.get("name", f"template-{vmid}"), config, template=True)
