"""Credentials: of kubeconfigs in all their shapes, of a pod, of a program; and what is said of those that are wrong."""

import asyncio
import base64
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
import yaml

from provider.edge.kube.auth import FRESH, Access, find_access, in_cluster
from provider.edge.kube.kubeconfig import AccessError, read_kubeconfig

USER = {"token": "a-token"}


def kubeconfig(folder: Path, user: object = USER, **cluster: object) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1", **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


def header(access: Access) -> str | None:
    return asyncio.run(access.headers()).get("Authorization")


def test_a_token_of_a_kubeconfig_becomes_the_authorization_header_here_and_in_kopf(tmp_path: Path):
    access = find_access(str(kubeconfig(tmp_path)))
    assert header(access) == "Bearer a-token"
    assert (access.kopf_fields()["scheme"], access.kopf_fields()["token"]) == ("Bearer", "a-token")


def test_a_name_and_a_password(tmp_path: Path):
    access = find_access(str(kubeconfig(tmp_path, {"username": "me", "password": "secret"})))
    assert header(access) == "Basic " + base64.b64encode(b"me:secret").decode()


def test_certificates_as_data_and_as_files_beside_the_kubeconfig(tmp_path: Path):
    authority = trustme.CA()
    leaf = authority.issue_cert("me.example")
    ca = authority.cert_pem.bytes()
    (tmp_path / "ca.crt").write_bytes(ca)
    (tmp_path / "me.crt").write_bytes(leaf.cert_chain_pems[0].bytes())
    (tmp_path / "me.key").write_bytes(leaf.private_key_pem.bytes())
    files = {"client-certificate": "me.crt", "client-key": "me.key"}
    data = {
        "client-certificate-data": base64.b64encode(leaf.cert_chain_pems[0].bytes()).decode(),
        "client-key-data": base64.b64encode(leaf.private_key_pem.bytes()).decode(),
    }
    server = {"server": "https://127.0.0.1:1"}
    by_file = find_access(str(kubeconfig(tmp_path, files, **server, **{"certificate-authority": "ca.crt"})))
    by_data = find_access(
        str(kubeconfig(tmp_path, data, **server, **{"certificate-authority-data": base64.b64encode(ca).decode()}))
    )
    assert by_file.kopf_fields() == by_data.kopf_fields()
    assert by_file.kopf_fields()["ca_data"] == ca.decode()
    assert not isinstance(by_file.ssl, bool)
    assert len(by_file.ssl.get_ca_certs()) == 1


def test_several_files_are_one_and_the_first_that_has_a_name_wins(tmp_path: Path):
    for folder, token in (("a", "first"), ("b", "second")):
        (tmp_path / folder).mkdir()
        kubeconfig(tmp_path / folder, {"token": token})
    login = read_kubeconfig([tmp_path / "a" / "kubeconfig", tmp_path / "b" / "kubeconfig"])
    assert login.token == "first"


def test_a_pods_token_is_read_again_when_it_may_have_been_renewed(tmp_path: Path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    (tmp_path / "token").write_text("old\n")
    now = [0.0]
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    access = Access(in_cluster(environment, tmp_path), lambda: now[0])
    assert access.server == "https://[fd00::1]:6443"
    assert header(access) == "Bearer old"
    (tmp_path / "token").write_text("new\n")
    assert header(access) == "Bearer old"
    assert access.kopf_fields()["token"] == "new"
    now[0] = 2 * FRESH
    assert header(access) == "Bearer new"


def program(folder: Path, status: object) -> dict[str, object]:
    """An exec section whose program prints this, and counts how often it was asked."""
    said = json.dumps({"kind": "ExecCredential", "status": status})
    (folder / "program.py").write_text(f"open({str(folder / 'asked')!r}, 'a').write('.'); print({said!r})")
    return {"command": sys.executable, "args": [str(folder / "program.py")], "env": [{"name": "A", "value": "b"}]}


@pytest.mark.parametrize(("left", "asked"), [(3600, 1), (1, 3)])
def test_a_credential_program_is_asked_again_when_its_token_ends(tmp_path: Path, left: int, asked: int):
    end = (datetime.now(UTC) + timedelta(seconds=left)).strftime("%Y-%m-%dT%H:%M:%SZ")
    section = program(tmp_path, {"token": "t", "expirationTimestamp": end})
    access = find_access(str(kubeconfig(tmp_path, {"exec": section})))
    assert header(access) == header(access) == "Bearer t"
    assert (tmp_path / "asked").read_text() == "." * asked


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"exec": {"command": "no-such-program-at-all"}}, "cannot be run"),
        ({"exec": {"command": "false"}}, "failed with 1"),
        ({"exec": {"command": "echo", "args": ["hello"]}}, "printed no ExecCredential"),
        ({"exec": {"command": "echo", "args": ['{"status": {}}']}}, "neither a token nor a certificate"),
        ({"auth-provider": {}}, "auth-provider is gone"),
        ({"client-certificate": "missing.crt"}, "client-certificate of the kubeconfig cannot be read"),
        ({"client-key-data": "%%%"}, "client-key of the kubeconfig cannot be read"),
    ],
)
def test_users_that_cannot_be_used(tmp_path: Path, user: object, message: str):
    with pytest.raises(AccessError, match=message):
        find_access(str(kubeconfig(tmp_path, user)))


@pytest.mark.parametrize(
    ("text", "context", "message"),
    [
        ("a: [", None, "cannot be used"),
        ("[]", None, "no object of kind Config"),
        ("kind: Config", None, "no current-context"),
        ("kind: Config", "there", "has no context 'there' .it has: none"),
        ("{kind: Config, contexts: [{name: x, context: {cluster: c}}]}", "x", "has no cluster 'c'"),
        (
            "{kind: Config, contexts: [{name: x, context: {cluster: c}}], clusters: [{name: c, cluster: {}}]}",
            "x",
            "has no server",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, context: str | None, message: str):
    (tmp_path / "kubeconfig").write_text(text)
    with pytest.raises(AccessError, match=message):
        find_access(str(tmp_path / "kubeconfig"), context)


def test_nothing_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(AccessError, match="no credentials"):
        find_access()
