"""The parameters of one request, read by name and type. What is missing, malformed or unknown is told all at once.

PVE refuses a parameter it does not know; so does `finish`, because a misspelt one would otherwise be silently lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from e2e.pve.errors import ParameterError

_UNKNOWN = "property is not defined in schema and the schema does not allow additional properties"
_MISSING = "property is missing and it is not optional"


class Params:
    """Read what the request needs, then call `finish`; only then are the values to be trusted."""

    def __init__(self, given: Mapping[str, object]) -> None:
        self._given = given
        self._known: set[str] = set()
        self._faults: dict[str, str] = {}

    def text(self, name: str) -> str:
        """A text that must be there."""
        found = self.optional_text(name)
        if found is None:
            self._faults.setdefault(name, _MISSING)
            return ""
        return found

    def optional_text(self, name: str) -> str | None:
        self._known.add(name)
        found = self._given.get(name)
        if found is None or isinstance(found, str):
            return found
        self._faults[name] = f"type check ('string') failed - got {found!r}"
        return None

    def integer(self, name: str) -> int:
        """A whole number that must be there."""
        found = self.optional_integer(name)
        if found is None:
            self._faults.setdefault(name, _MISSING)
            return 0
        return found

    def optional_integer(self, name: str) -> int | None:
        """A whole number; PVE takes it as JSON number or as text."""
        self._known.add(name)
        found = self._given.get(name)
        if found is None:
            return None
        text = "" if isinstance(found, bool) else str(found)
        if not text.isascii() or not text.isdigit():
            self._faults[name] = f"type check ('integer') failed - got {found!r}"
            return None
        return int(text)

    def flag(self, name: str, *, default: bool) -> bool:
        """PVE's boolean: 0 or 1, or JSON's own."""
        self._known.add(name)
        found = self._given.get(name, default)
        if found in (True, 1, "1"):
            return True
        if found in (False, 0, "0"):
            return False
        self._faults[name] = f"type check ('boolean') failed - got {found!r}"
        return default

    def texts(self, name: str) -> list[str]:
        """A list of texts that must be there."""
        self._known.add(name)
        found = self._given.get(name)
        if isinstance(found, list) and found and all(isinstance(item, str) for item in found):
            return found
        self._faults[name] = _MISSING if found is None else f"type check ('array') failed - got {found!r}"
        return []

    def finish(self) -> None:
        """Raise ParameterError if anything was wrong, or if something is left that nobody asked for."""
        unknown = {name: _UNKNOWN for name in self._given if name not in self._known}
        if unknown or self._faults:
            raise ParameterError({**unknown, **self._faults})
