"""What a container gets as environment and command line."""

import pytest

from e2e.bed.kubelet.environment import MissingReference, build, command_line, expand, field_value, references

POD = {
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}, "annotations": {"a/b": "note"}},
    "spec": {"nodeName": "bed-node", "containers": []},
    "status": {"podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}]},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--name=$(NAME)", "--name=web"),
        ("$$(NAME)", "$(NAME)"),
        ("$(UNKNOWN) stays", "$(UNKNOWN) stays"),
        ("$NAME and ${NAME}", "$NAME and ${NAME}"),
        ("$(NAME)$(NAME)", "webweb"),
    ],
)
def test_references_are_filled_and_the_rest_is_left(text, expected):
    assert expand(text, {"NAME": "web"}) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "web"),
        ("metadata.labels['app']", "web"),
        ("metadata.annotations['a/b']", "note"),
        ("metadata.labels['missing']", ""),
        ("spec.nodeName", "bed-node"),
        ("status.podIP", "10.0.0.7"),
        ("status.podIPs", "10.0.0.7,fd00::7"),
    ],
)
def test_the_downward_api_reads_the_pod(path, expected):
    assert field_value(POD, path) == expected


def test_an_unknown_field_is_named():
    with pytest.raises(MissingReference, match=r"spec\.nodeNome"):
        field_value(POD, "spec.nodeNome")


def test_variables_come_in_order_of_force():
    container = {
        "name": "main",
        "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "none", "optional": True}}],
        "env": [
            {"name": "MODE", "value": "own"},
            {"name": "URL", "value": "http://$(HOST)/$(MODE)"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
            {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "none", "optional": True}}},
        ],
    }
    found = build(
        container, POD, {"PATH": "/bin", "MODE": "image"}, {"keys": {"token": "s3"}}, {"settings": {"HOST": "db"}}
    )
    assert found == {"PATH": "/bin", "MODE": "own", "HOST": "db", "URL": "http://db/own", "TOKEN": "s3"}


@pytest.mark.parametrize(
    "variable",
    [
        {"valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
        {"valueFrom": {"configMapKeyRef": {"name": "settings", "key": "HOST"}}},
        {"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    ],
)
def test_what_is_not_there_stops_the_start(variable):
    with pytest.raises(MissingReference):
        build({"name": "main", "env": [{"name": "X", **variable}]}, POD, {}, {}, {})


def test_command_replaces_the_entrypoint_and_args_follow():
    assert command_line({"args": ["--v=$(V)"]}, ["/manager"], {"V": "2"}) == ["/manager", "--v=2"]
    assert command_line({"command": ["python", "-m", "x"]}, ["/manager"], {}) == ["python", "-m", "x"]


def test_all_referenced_objects_are_found():
    containers = [{"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s1", "key": "k"}}}]}]
    projected = {"projected": {"sources": [{"configMap": {"name": "c2"}}, {"secret": {"name": "s3"}}]}}
    volumes = [{"secret": {"secretName": "s2"}}, {"configMap": {"name": "c1"}}, projected]
    pod = {"spec": {"volumes": volumes}}
    assert references(pod, containers) == {"secret": {"s1", "s2", "s3"}, "configMap": {"c1", "c2"}}
