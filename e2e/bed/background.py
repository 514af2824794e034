"""A bed that stays up after the command that made it: a process of its own holds it, until it is told to stop."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.bed import leftovers, slots
from e2e.bed.bed import TREE, Bed
from e2e.bed.errors import BedError
from e2e.bed.progress import Progress

STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Summary:
    """How to reach a bed; kept as bed.json in its directory. `pve` is "" without the simulation."""

    name: str
    server: str
    kubeconfig: str
    kubectl: str
    logs: str
    pve: str

    @classmethod
    def of(cls, bed: Bed) -> "Summary":
        pve = bed.pve.url if bed.pve else ""
        return cls(
            name=bed.name,
            server=bed.control_plane.server,
            kubeconfig=str(bed.kubeconfig),
            kubectl=str(bed.kubectl_path),
            logs=str(bed.logs),
            pve=pve,
        )

    def text(self) -> str:
        """For the eyes, ready to copy."""
        lines = [
            f"bed {self.name!r} is up at {self.server}",
            f"  export KUBECONFIG={self.kubeconfig}",
            f"  export PATH={Path(self.kubectl).parent}:$PATH    # kubectl",
            *([f"  simulated Proxmox VE: {self.pve}"] if self.pve else []),
            f"  logs: {self.logs}/",
            f"  stop it: python -m e2e.bed down --name {self.name}",
        ]
        return "\n".join(lines)


def hold(bed: Bed) -> None:
    """Keep a bed up until SIGTERM. Says the summary on standard output once it is ready, and nothing after that."""
    with bed:
        summary = json.dumps(asdict(Summary.of(bed)))
        (bed.directory / "bed.json").write_text(summary)
        print(summary, flush=True)
        log = os.open(bed.logs / "bed.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(log, stream.fileno())
        while True:
            signal.pause()


def raise_bed(arguments: Sequence[str]) -> Summary:
    """Start `python -m e2e.bed hold <arguments>` and wait until its bed is ready; its progress shows on our stderr.

    Raises BedError when it does not come up; it has said why by then. Ctrl-C here stops it there.
    """
    command = [sys.executable, "-m", "e2e.bed", "hold", *arguments]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, cwd=TREE, text=True)
    assert holder.stdout is not None
    with holder.stdout:
        try:
            answer = holder.stdout.readline()
        except BaseException:
            holder.terminate()
            holder.wait()
            raise
    if not answer:
        raise BedError(f"the bed did not come up (exit status {holder.wait()})")
    # It is meant to outlive us; this keeps the interpreter from calling that a leak.
    holder.returncode = 0
    return Summary(**json.loads(answer))


def stop(record: slots.Record, progress: Progress) -> None:
    """Stop a live bed and wait until all of it is gone."""
    with progress.step(f"stopping bed {record.name!r}", 3):
        os.kill(record.pid, signal.SIGTERM)
        if not _gone(record, STOP_SECONDS):
            os.kill(record.pid, signal.SIGKILL)
            if not _gone(record, STOP_SECONDS):
                raise BedError(f"bed {record.name!r} (pid {record.pid}) does not end, not even by SIGKILL")
            leftovers.clean(progress)


def _gone(record: slots.Record, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while record in slots.live():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
