"""What the API server can answer instead of a result, as a small tree of meanings.

KubeError
├── NotFound        404: the object is not there (any more)
├── AlreadyExists   409 AlreadyExists: a create lost, read the winner
├── Conflict        409: the version read is not the newest one, read again
├── Gone            410: the watch fell behind, list again
├── Invalid         400, 422: the object is refused, trying again will not help
├── Denied          401, 403: no permission, or an admission policy or webhook refused
└── Unavailable     429, 5xx, or no answer at all: the write MAY have happened
"""


class KubeError(Exception):
    """An answer of the API server other than success. `status` is the HTTP status, 0 where there was no answer."""

    def __init__(self, message: str, status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class NotFound(KubeError):
    pass


class AlreadyExists(KubeError):
    pass


class Conflict(KubeError):
    pass


class Gone(KubeError):
    pass


class Invalid(KubeError):
    pass


class Denied(KubeError):
    pass


class Unavailable(KubeError):
    pass


def error_of(status: int, reason: str, message: str, retry_after: float | None = None) -> KubeError:
    """The error for an HTTP status and the reason of a Status object."""
    kind: type[KubeError]
    if status == 409:
        kind = AlreadyExists if reason == "AlreadyExists" else Conflict
    elif status in (401, 403):
        kind = Denied
    elif status in (400, 422):
        kind = Invalid
    elif status == 429 or status >= 500:
        kind = Unavailable
    else:
        kind = {404: NotFound, 410: Gone}.get(status, KubeError)
    return kind(message, status, retry_after)
