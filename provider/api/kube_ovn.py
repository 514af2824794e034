"""The fields of Kube-OVN's kinds that pxnet reads."""

from dataclasses import dataclass

from provider.api.ipam import Json

UNTAGGED = 0


@dataclass(frozen=True, slots=True)
class Vlan:
    """A Vlan of Kube-OVN.

    Attributes:
        provider: name of the ProviderNetwork that it is on; empty until Kube-OVN has filled it in.
        vlan: 1 to 4094, or UNTAGGED; what is no VLAN tag (4095, where the CRD has no bounds any number) counts as that.
    """

    version: str
    provider: str
    vlan: int


def read_vlan(raw: Json) -> Vlan:
    """Read one. Never raises: the objects are somebody else's."""
    spec = raw.get("spec") or {}
    number, provider = spec.get("id"), spec.get("provider")
    return Vlan(
        raw["metadata"]["resourceVersion"],
        provider if isinstance(provider, str) else "",
        number if isinstance(number, int) and 1 <= number <= 4094 else UNTAGGED,
    )
