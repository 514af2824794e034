"""Volumes: which files they hold, and how they get on disk."""

import pytest

from e2e.bed.kubelet.environment import MissingReference
from e2e.bed.kubelet.volumes import File, Sources, TokenRequest, render, token_requests, write

POD = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {}}
SOURCES = Sources(
    secrets={"cert": {"tls.crt": b"C", "tls.key": b"K"}}, config_maps={"root": {"ca.crt": b"CA"}}, tokens={"": "T"}
)
# As kube-apiserver's ServiceAccount admission adds it to every pod.
ACCESS = {
    "name": "kube-api-access",
    "projected": {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "root", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ],
    },
}


def test_the_service_accounts_directory():
    assert {name: file.content for name, file in render(ACCESS, POD, SOURCES).items()} == {
        "token": b"T",
        "ca.crt": b"CA",
        "namespace": b"shop",
    }


def test_the_tokens_that_a_pod_wants():
    assert token_requests({"spec": {"volumes": [ACCESS]}}) == [TokenRequest("", 3607)]


def test_a_secret_with_chosen_keys_and_modes():
    items = [{"key": "tls.key", "path": "server/key", "mode": 0o400}]
    volume = {"name": "v", "secret": {"secretName": "cert", "defaultMode": 0o444, "items": items}}
    assert render(volume, POD, SOURCES) == {"server/key": File(b"K", 0o400)}
    whole = {"name": "v", "secret": {"secretName": "cert", "defaultMode": 0o444}}
    assert render(whole, POD, SOURCES)["tls.crt"] == File(b"C", 0o444)


def test_an_empty_volume_has_no_files():
    assert render({"name": "v", "emptyDir": {}}, POD, SOURCES) == {}


@pytest.mark.parametrize(
    "volume",
    [
        {"name": "v", "secret": {"secretName": "none"}},
        {"name": "v", "secret": {"secretName": "cert", "items": [{"key": "none", "path": "x"}]}},
        {"name": "v", "hostPath": {"path": "/"}},
    ],
)
def test_what_cannot_be_mounted_is_named(volume):
    with pytest.raises(MissingReference, match=r"none|hostPath"):
        render(volume, POD, SOURCES)


def test_optional_things_may_be_missing():
    assert render({"name": "v", "configMap": {"name": "none", "optional": True}}, POD, SOURCES) == {}


def test_only_changed_files_are_written(tmp_path):
    write({"a": File(b"1"), "sub/b": File(b"2", 0o400)}, tmp_path)
    assert (tmp_path / "sub/b").read_bytes() == b"2"
    assert (tmp_path / "sub/b").stat().st_mode & 0o777 == 0o400
    kept = (tmp_path / "a").stat().st_ino
    write({"a": File(b"1"), "sub/b": File(b"3", 0o400)}, tmp_path)
    assert (tmp_path / "a").stat().st_ino == kept
    assert (tmp_path / "sub/b").read_bytes() == b"3"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "sub"]
