"""Attempts as data: files of `themes`, and of `old` for capmox 0.7.

Each is a list of what somebody tries and of the honest twin that must pass.

    name      what is tried
    who       tenant (of team-b, the default), neighbour (of team-a), outsider (of team-c, which has no network), admin,
              or the name of a service account as system:serviceaccount:<namespace>:<name>
    verb      create (the default), replace, patch, apply (server-side), delete
    object    a base of bases.yaml
    with      JSON merge patch on that object; for patch and apply, what is sent besides the object's names
    before    merge patch on the base as it is made first, by the admin, for verbs that need one; `ending: true` has it
              deleted, which a finalizer holds up
    on        subresource
    dry       a dry run
    says      a part of the refusal's message
    twin      the same keys, where the honest attempt differs

{b} in any text is the namespace of team-b, {a} of team-a, {c} of team-c, {name} the object's name.
"""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

THEMES, OLD = Path(__file__).parent / "themes", Path(__file__).parent / "old"
BASES = Path(__file__).parent / "bases.yaml"
NAMES = frozenset({"name", "who", "verb", "object", "with", "before", "ending", "on", "dry", "says", "twin"})


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request and what must come of it: `says` is a part of the refusal, None for one that must pass."""

    theme: str
    name: str
    who: str
    verb: str
    object: str
    change: Json
    before: Json | None
    ending: bool
    subresource: str
    dry: bool
    says: str | None


def attempts(folder: Path = THEMES) -> Iterator[tuple[Attempt, Attempt]]:
    """Every attack with its honest twin."""
    for path in sorted(folder.glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text()):
            unknown = {*entry, *entry["twin"]} - NAMES
            assert not unknown, f"{path.name}: {entry['name']}: unknown {unknown}"
            yield _read(path.stem, entry), replace(_read(path.stem, {**entry, **entry["twin"]}), says=None)


def _read(theme: str, entry: Json) -> Attempt:
    return Attempt(
        theme=theme,
        name=entry["name"],
        who=entry.get("who", "tenant"),
        verb=entry.get("verb", "create"),
        object=entry["object"],
        change=entry.get("with", {}),
        before=entry.get("before"),
        ending=entry.get("ending", False),
        subresource=entry.get("on", ""),
        dry=entry.get("dry", False),
        says=entry["says"],
    )


def bases() -> dict[str, Json]:
    """Honest objects by name."""
    found: dict[str, Json] = yaml.safe_load(BASES.read_text())
    return found


def merged(item: Any, patch: Any) -> Any:
    """RFC 7386, written here again so that the tests share nothing with what they test."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(item) if isinstance(item, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def filled(item: Any, **values: str) -> Any:
    """With {a}, {b}, {c} and {name} put in."""
    text = json.dumps(item)
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return json.loads(text)
