"""What can go wrong with a bed. Each error is one readable line (plus a log's tail, where a process died)."""


class BedError(Exception):
    """A bed cannot be made or used; the text says what to do."""


class BuildError(BedError):
    """A tool cannot be built or found."""


class NetworkError(BedError):
    """The bed's network cannot be made."""


class ProcessError(BedError):
    """A process did not start, died early, or was not ready in time."""
