"""Volumes as directories of files. Rendering is pure; `write` puts the result on disk, file by file and atomically.

Known: emptyDir, secret, configMap, downwardAPI, projected (also serviceAccountToken). Others are refused by name.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.bed.kubelet.environment import MissingReference, field_value

Object = dict[str, Any]
DEFAULT_MODE = 0o644


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    mode: int = DEFAULT_MODE


@dataclass(frozen=True, slots=True)
class Sources:
    """What volumes may refer to: name -> key -> bytes, and service account tokens by audience ("" is the API's own)."""

    secrets: Mapping[str, Mapping[str, bytes]]
    config_maps: Mapping[str, Mapping[str, bytes]]
    tokens: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that a projected volume wants; `seconds` is its wished lifetime."""

    audience: str
    seconds: int


def token_requests(pod: Object) -> list[TokenRequest]:
    return [
        TokenRequest(wanted.get("audience", ""), wanted.get("expirationSeconds", 3600))
        for volume in pod["spec"].get("volumes", ())
        for part in volume.get("projected", {}).get("sources", ())
        if (wanted := part.get("serviceAccountToken"))
    ]


def render(volume: Object, pod: Object, sources: Sources) -> dict[str, File]:
    """The volume's files by relative path. Raises MissingReference when something it needs is not there."""
    if "emptyDir" in volume:
        return {}
    if projected := volume.get("projected"):
        files: dict[str, File] = {}
        for part in projected.get("sources", ()):
            files |= _part(part, pod, sources, projected.get("defaultMode", DEFAULT_MODE))
        return files
    return _part(volume, pod, sources, DEFAULT_MODE)


def _part(part: Object, pod: Object, sources: Sources, mode: int) -> dict[str, File]:
    if secret := part.get("secret"):
        name = secret.get("secretName") or secret["name"]
        return _keys(secret, "secret", name, sources.secrets.get(name), mode)
    if config_map := part.get("configMap"):
        name = config_map["name"]
        return _keys(config_map, "configMap", name, sources.config_maps.get(name), mode)
    if token := part.get("serviceAccountToken"):
        return {token["path"]: File(sources.tokens[token.get("audience", "")].encode(), mode)}
    if downward := part.get("downwardAPI"):
        return {
            item["path"]: File(field_value(pod, item["fieldRef"]["fieldPath"]).encode(), item.get("mode", mode))
            for item in downward.get("items", ())
        }
    raise MissingReference(f"this kubelet does not know volumes of kind {'/'.join(set(part) - {'name'})}")


def _keys(spec: Object, kind: str, name: str, values: Mapping[str, bytes] | None, mode: int) -> dict[str, File]:
    mode = spec.get("defaultMode", mode)
    if values is None:
        if spec.get("optional"):
            return {}
        raise MissingReference(f"{kind} {name} not found")
    if "items" not in spec:
        return {key: File(content, mode) for key, content in values.items()}
    files = {}
    for item in spec["items"]:
        if item["key"] in values:
            files[item["path"]] = File(values[item["key"]], item.get("mode", mode))
        elif not spec.get("optional"):
            raise MissingReference(f"{kind} {name} has no key {item['key']}")
    return files


def write(files: Mapping[str, File], directory: Path) -> None:
    """Make the directory hold these files; one that already has this content is not touched, others are left alone."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, file in files.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and target.read_bytes() == file.content:
            continue
        # A reader sees the old file or the new one, never half of it.
        partial = target.with_name(f".{target.name}.new")
        partial.write_bytes(file.content)
        partial.chmod(file.mode)
        os.replace(partial, target)
