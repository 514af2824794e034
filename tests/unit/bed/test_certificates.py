"""Certificates as the TLS library sees them: trusted under their names, by that authority, and nothing else."""

import socket
import ssl
import threading
from pathlib import Path

import pytest
import yaml

from e2e.bed.certificates import Authority, KeyPair, signing_key
from e2e.bed.kubeconfig import kubeconfig, write_kubeconfig


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> dict[str, object]:
    """Run one handshake and give what the server knows of its client."""
    here, there = socket.socketpair()
    seen: dict[str, object] = {}

    def serve() -> None:
        try:
            with server.wrap_socket(there, server_side=True) as secure:
                seen.update(secure.getpeercert() or {})
                secure.recv(1)
        except (ssl.SSLError, ConnectionError):
            there.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(here, server_hostname=name) as secure:
            secure.send(b"x")
    finally:
        here.close()
        thread.join()
    return seen


@pytest.fixture
def authority() -> Authority:
    return Authority("test")


def contexts(directory: Path, authority: Authority, server: KeyPair, client: KeyPair):
    server.write(directory, "server.crt", "server.key")
    client.write(directory, "client.crt", "client.key")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(directory / "server.crt", directory / "server.key")
    serving.verify_mode = ssl.CERT_REQUIRED
    serving.load_verify_locations(cadata=authority.certificate.decode())
    asking = ssl.create_default_context(cadata=authority.certificate.decode())
    asking.load_cert_chain(directory / "client.crt", directory / "client.key")
    return serving, asking


def test_server_and_client_trust_each_other(tmp_path: Path, authority: Authority) -> None:
    server = authority.server(["webhook.pxnet.svc", "10.213.0.1"])
    client = authority.client("someone", ["group:one", "group:two"])
    serving, asking = contexts(tmp_path, authority, server, client)
    for name in ("webhook.pxnet.svc", "10.213.0.1"):
        subject = shake_hands(serving, asking, name)["subject"]
        assert isinstance(subject, tuple)
        pairs = [pair for rdn in subject for pair in rdn]
        assert ("commonName", "someone") in pairs
        assert [value for key, value in pairs if key == "organizationName"] == ["group:one", "group:two"]


def test_another_name_is_not_trusted(tmp_path: Path, authority: Authority) -> None:
    serving, asking = contexts(tmp_path, authority, authority.server(["right"]), authority.client("someone"))
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(serving, asking, "wrong")


def test_another_authority_is_not_trusted(tmp_path: Path, authority: Authority) -> None:
    serving, _ = contexts(tmp_path, authority, authority.server(["right"]), authority.client("someone"))
    stranger = ssl.create_default_context(cadata=Authority("test").certificate.decode())
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(serving, stranger, "right")


def test_a_long_name_fits(authority: Authority) -> None:
    assert authority.server(["a" * 60 + "." + "b" * 60 + ".svc"]).certificate.startswith(b"-----BEGIN CERTIFICATE")


def test_keys_are_for_their_owner_alone(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "x.key").touch(mode=0o644)
    authority.client("someone").write(tmp_path, "x.crt", "x.key")
    assert (tmp_path / "x.key").stat().st_mode & 0o777 == 0o600
    written = write_kubeconfig(tmp_path / "deep" / "kubeconfig", "https://x", authority.certificate, "token")
    assert written.stat().st_mode & 0o777 == 0o600


def test_a_signing_key_is_a_public_and_a_private_key() -> None:
    pair = signing_key()
    assert pair.certificate.startswith(b"-----BEGIN PUBLIC KEY")
    assert pair.key.startswith(b"-----BEGIN PRIVATE KEY")


@pytest.mark.parametrize(
    ("user", "keys"),
    [("secret-token", {"token"}), (KeyPair(b"c", b"k"), {"client-certificate-data", "client-key-data"})],
)
def test_a_kubeconfig_names_one_user_of_one_cluster(user: KeyPair | str, keys: set[str]) -> None:
    document = yaml.safe_load(kubeconfig("https://10.213.0.1:6443", b"ca", user))
    assert document["clusters"][0]["cluster"]["server"] == "https://10.213.0.1:6443"
    assert set(document["users"][0]["user"]) == keys
    assert document["current-context"] == document["contexts"][0]["name"]
