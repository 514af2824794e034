"""Times as Kubernetes writes them: RFC 3339, UTC, whole seconds."""

import functools
from datetime import UTC, datetime, timedelta


@functools.lru_cache(maxsize=1024)
def parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def round_up(moment: datetime) -> datetime:
    """To the next whole second, so that writing a deadline down never shortens it."""
    whole = moment.replace(microsecond=0)
    return whole if whole == moment else whole + timedelta(seconds=1)
