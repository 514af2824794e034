"""Manifests of the pinned providers, read from their Go modules and kept in the cache as plain JSON.

kustomize and YAML cost seconds for three megabytes, so a result is kept under a key of what it was made from. Nothing
here talks to a cluster.
"""

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
import yaml

from e2e.bed.binaries import cache_directory
from e2e.bed.errors import BuildError

Object = dict[str, Any]
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?[=-]([^}]*))?\}")


def kustomize(kubectl: Path, directory: Path, *, cached: bool = True) -> list[Object]:
    """The objects of a kustomization. `cached` is for directories that never change, such as those of Go modules."""

    def build() -> list[Object]:
        done = subprocess.run([kubectl, "kustomize", directory], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"`kubectl kustomize {directory}` failed:\n{done.stderr.strip()}")
        return _parse(done.stdout)

    return _kept(f"{kubectl}|{directory}", build) if cached else build()


def files(paths: Iterable[Path]) -> list[Object]:
    """The objects of plain YAML files of a Go module."""
    paths = list(paths)
    return _kept("|".join(map(str, paths)), lambda: [item for path in paths for item in _parse(path.read_text())])


def substitute(item: Any, variables: Mapping[str, str]) -> Any:
    """Fill `${NAME}`, `${NAME:=default}` and its like in all strings of a value. KeyError without value and default.

    CRDs are left alone: they hold no variables, and most of the text.
    """
    if isinstance(item, str):
        return VARIABLE.sub(lambda found: _value(found, variables), item) if "${" in item else item
    if isinstance(item, list):
        return [substitute(entry, variables) for entry in item]
    if isinstance(item, dict) and item.get("kind") != "CustomResourceDefinition":
        return {key: substitute(entry, variables) for key, entry in item.items()}
    return item


def without_conversion(crd: Object) -> Object:
    """The CRD as it is usable when nobody serves its conversion webhook."""
    return {**crd, "spec": {**crd["spec"], "conversion": {"strategy": "None"}}}


def _value(found: "re.Match[str]", variables: Mapping[str, str]) -> str:
    name, default = found.groups()
    if name in variables:
        return variables[name]
    if default is None:
        raise KeyError(f"the manifests want a value for {name}")
    # The text was YAML: a quoted default is the text within.
    return str(default).strip('"')


def _parse(text: str) -> list[Object]:
    return [item for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]


def _kept(key: str, build: Callable[[], list[Object]]) -> list[Object]:
    path = cache_directory() / "manifests" / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
    if path.exists():
        kept: list[Object] = orjson.loads(path.read_bytes())
        return kept
    made = build()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(orjson.dumps(made))
    partial.rename(path)
    return made
