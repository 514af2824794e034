"""Clean up after beds that died without doing it: namespaces, processes in them, data in memory, keys."""

import shutil

from e2e.bed import slots
from e2e.bed.network import remove_network
from e2e.bed.progress import Progress


def clean(progress: Progress) -> int:
    """Clean every dead bed and give their number. Beds that live, and all that is no bed's, are left alone."""
    dead = slots.take_dead()
    for slot in dead:
        record = slot.record
        progress.say(f"cleaning up after bed {record.name!r}, which ended without doing so")
        remove_network(record.index)
        remove_files(record)
        slot.release()
    return len(dead)


def remove_files(record: slots.Record) -> None:
    """Remove what a bed leaves on disk, except its logs."""
    # The record is a file: trust its paths only where they look as this project names them.
    if record.scratch.name == f"pxbed-{record.index}":
        shutil.rmtree(record.scratch, ignore_errors=True)
    if record.directory.name == record.name:
        for name in ("pki", "kubelet", "kubectl-cache"):
            shutil.rmtree(record.directory / name, ignore_errors=True)
        (record.directory / "bed.json").unlink(missing_ok=True)
