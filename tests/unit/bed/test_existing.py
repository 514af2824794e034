"""Which clusters can stand in for a bed's own control plane, and what is said of the others."""

from pathlib import Path

import pytest

from e2e.bed import slots
from e2e.bed.certificates import KeyPair
from e2e.bed.errors import BedError
from e2e.bed.existing import address_of, refuse_own, server_of
from e2e.bed.kubeconfig import kubeconfig


def test_an_address_that_pods_can_be_given() -> None:
    assert address_of("https://192.0.2.7:6443") == ("192.0.2.7", 6443)
    assert address_of("https://192.0.2.7") == ("192.0.2.7", 443)


@pytest.mark.parametrize("server", ["https://127.0.0.1:6443", "https://kind:6443", "https://[2001:db8::1]:6443", ""])
def test_a_server_that_pods_cannot_be_given_is_named(server: str) -> None:
    with pytest.raises(BedError, match=r"cannot be given the API server .*must name an IPv4 address"):
        address_of(server)


def test_server_and_trust_are_read_from_the_kubeconfig() -> None:
    text = kubeconfig("https://192.0.2.7:6443", b"an authority", KeyPair(b"c", b"k"))
    assert server_of(text, Path("x")) == ("https://192.0.2.7:6443", b"an authority")


def test_no_current_context_says_what_to_do() -> None:
    with pytest.raises(BedError, match="somewhere has no current context: choose one"):
        server_of("apiVersion: v1\nkind: Config\nclusters: null\n", Path("somewhere"))


def test_a_beds_own_kubeconfig_and_a_missing_one_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "RECORDS", tmp_path / "run")
    slot = slots.take("mine", tmp_path, tmp_path)
    with pytest.raises(BedError, match="KUBECONFIG is that of bed 'mine', which is up: unset it"):
        refuse_own(tmp_path / "mine" / "pki" / "admin.kubeconfig")
    with pytest.raises(BedError, match=r"no kubeconfig .*/other: unset KUBECONFIG"):
        refuse_own(tmp_path / "other")
    slot.release()
    (tmp_path / "other").touch()
    refuse_own(tmp_path / "other")
