"""Pieces of CEL text, written so that no name or value can break out of them."""

from collections.abc import Iterable

PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 !#$%&()*+,-./:;<=>?@[]^_`{|}~")


def text(value: str) -> str:
    """A string literal. Whatever is not a plain character is escaped, quotes and backslashes above all."""
    return "'" + "".join(char if char in PLAIN else f"\\U{ord(char):08x}" for char in value) + "'"


def texts(values: Iterable[str]) -> str:
    """A list of string literals, in the given order."""
    return "[" + ", ".join(text(value) for value in values) + "]"


def joined(*parts: str) -> str:
    """CEL: the parts, each of them CEL of a string, one after the other."""
    return " + ".join(parts)


def first_true(cases: Iterable[tuple[str, str]], otherwise: str) -> str:
    """CEL: the value of the first case that is true. A case is a condition and its value."""
    chain = "".join(f"({condition}) ? ({value}) : " for condition, value in cases)
    return f"({chain}({otherwise}))"


def either(conditions: Iterable[str]) -> str:
    """CEL: whether one of the conditions is true; false for none."""
    return "(" + (" || ".join(conditions) or "false") + ")"
