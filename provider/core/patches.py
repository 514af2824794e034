"""JSON merge patches (RFC 7386) from what is to what should be."""

from collections.abc import Mapping
from typing import Any


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest patch that makes `after` out of `before`; empty when they agree.

    A key that is gone becomes null; lists are replaced whole, as the patch format has it.
    """
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            nested = merge_patch(old, value)
            if nested:
                patch[key] = nested
        elif key not in before or old != value:
            patch[key] = value
    return patch
