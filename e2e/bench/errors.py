"""What can go wrong in a measurement."""

from e2e.bed.errors import BedError


class BenchError(BedError):
    """A measurement that did not come to its end; says how far it came."""
