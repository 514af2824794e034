"""Conditions of our kinds: what is said, since when, and what of it is new."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from provider.api.meta import Condition

READY = "Ready"
MAX_MESSAGE = 4000
"""Characters; a longer message is cut, since nobody reads on."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a reconcile found out: a condition that does not know yet since when it holds."""

    type: str
    status: bool
    reason: str
    message: str = ""


def conditions(
    previous: Sequence[Condition], statements: Sequence[Statement], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """The conditions to write; one that keeps its status keeps its lastTransitionTime."""
    known = {condition.type: condition for condition in previous}
    written: list[Condition] = []
    for statement in statements:
        status = "True" if statement.status else "False"
        before = known.get(statement.type)
        unchanged = before is not None and before.status == status
        written.append(
            Condition(
                type=statement.type,
                status=status,
                reason=statement.reason,
                message=shortened(statement.message),
                last_transition_time=before.last_transition_time
                if before is not None and unchanged
                else now.astimezone(UTC).replace(microsecond=0),
                observed_generation=generation,
            )
        )
    return tuple(written)


def transitions(previous: Sequence[Condition], after: Sequence[Condition]) -> list[Condition]:
    """Conditions whose status or reason is new: each is worth an Event."""
    known = {condition.type: (condition.status, condition.reason) for condition in previous}
    return [condition for condition in after if known.get(condition.type) != (condition.status, condition.reason)]


def is_ready(present: Sequence[Condition]) -> bool:
    return any(condition.type == READY and condition.status == "True" for condition in present)


def shortened(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 4].rstrip() + " ..."


def listed(parts: Sequence[str], total: int | None = None, shown: int = 3) -> str:
    """A few of many, and how many more there are. `total` counts them where `parts` holds but the first."""
    rest = (len(parts) if total is None else total) - min(len(parts), shown)
    return ", ".join(parts[:shown]) + (f" and {rest} more" if rest > 0 else "")
