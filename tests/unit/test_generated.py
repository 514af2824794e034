"""What is generated is up to date, and says of every field what it is."""

from typing import Any

import pytest

from config.crds import crd
from config.generate import differences, generated_files
from config.overlays import KINDS, POOL_KINDS
from provider.edge.kube.ownership import foreign_kinds


def test_the_tree_holds_what_the_models_say():
    assert differences(generated_files()) == ""


def undescribed(schema: dict[str, Any], path: str) -> list[str]:
    found = [] if schema.get("description") or not path or path == ".metadata" else [path]
    for name, item in schema.get("properties", {}).items():
        found += undescribed(item, f"{path}.{name}")
    for nested in ("items", "additionalProperties"):
        inner = schema.get(nested)
        if isinstance(inner, dict) and "properties" in inner:
            found += undescribed({"properties": inner["properties"], "description": "-"}, f"{path}[]")
    return found


@pytest.mark.parametrize("model", [*KINDS, *POOL_KINDS])
def test_every_field_is_described(model):
    (version,) = crd(model)["spec"]["versions"]
    assert undescribed(version["schema"]["openAPIV3Schema"], "") == []


def test_kinds_of_our_names_without_our_label_are_somebody_elses():
    ours = crd(KINDS[0])
    theirs = {"metadata": {"name": "proxmoxnetworks.proxmox.cozystack.io"}}
    assert foreign_kinds([ours, theirs]) == ("proxmoxnetworks.proxmox.cozystack.io",)
    assert foreign_kinds([ours]) == ()
