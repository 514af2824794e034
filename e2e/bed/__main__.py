"""`python -m e2e.bed up|down|clean|list|build|check`: beds that stay up, for people and scripts."""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from e2e.bed import background, binaries, leftovers, needs, slots
from e2e.bed.bed import Bed
from e2e.bed.errors import BedError
from e2e.bed.go import go_version
from e2e.bed.parts import FULL, LIGHT, Parts
from e2e.bed.progress import Progress
from e2e.bed.tools import CONTROL_PLANE_TOOLS, TOOLS


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m e2e.bed", description="A test bed of real parts.")
    commands = parser.add_subparsers(dest="command", required=True)

    choice = argparse.ArgumentParser(add_help=False)
    choice.add_argument("--name", help='what to call it; "bed<number>" without')
    choice.add_argument("--light", action="store_true", help="the control plane alone: no Cluster API, node or PVE")
    choice.add_argument("--with-peer", action="store_true", help="with the in-cluster IPAM provider too")
    choice.add_argument(
        "--kubeconfig",
        type=Path,
        default=os.environ.get("KUBECONFIG") or None,
        help="use this cluster, not a control plane of the bed's own; KUBECONFIG of the environment without",
    )
    commands.add_parser("up", parents=[choice], help="start a bed and leave it running")
    # What `up` starts in the background; of no use by hand.
    commands.add_parser("hold", parents=[choice])

    down = commands.add_parser("down", help="stop a bed that `up` left running")
    which = down.add_mutually_exclusive_group()
    which.add_argument("--name", help="this one, whoever runs it; needed when several are up")
    which.add_argument("--all", action="store_true", help="every bed that `up` left running")
    commands.add_parser("clean", help="clean up after beds that died; stops nothing")
    commands.add_parser("list", help="the beds that are up")
    commands.add_parser("build", help="build all tools, so that the next bed is up at once")
    commands.add_parser("check", help="say whether this machine has what a bed needs")
    return parser.parse_args(arguments)


def chosen_parts(options: argparse.Namespace) -> Parts:
    """The parts an `up` command line asks for. Raises BedError for what excludes itself."""
    if options.light and options.with_peer:
        raise BedError("--with-peer needs a node to run on: leave --light away")
    if options.light and options.kubeconfig:
        raise BedError(f"--light is a control plane alone, and {options.kubeconfig} is one: unset KUBECONFIG")
    return LIGHT if options.light else replace(FULL, peer=options.with_peer)


def up(options: argparse.Namespace, progress: Progress) -> None:
    parts = chosen_parts(options)
    needs.require()
    # Built here, where Ctrl-C reaches the compiler too; the bed itself says what it takes from where.
    binaries.ensure((*CONTROL_PLANE_TOOLS, *parts.tools), progress, announce=False)
    words = ["--light"] * options.light + ["--with-peer"] * options.with_peer
    names = ["--name", options.name] if options.name else []
    existing = ["--kubeconfig", str(options.kubeconfig.absolute())] if options.kubeconfig else []
    print(background.raise_bed([*names, *words, *existing]).text())


def down(options: argparse.Namespace, progress: Progress) -> None:
    leftovers.clean(progress)
    beds = beds_to_stop(slots.live(), options.name)
    if options.name is not None and not beds:
        raise BedError(f"no bed named {options.name!r} is up")
    if len(beds) > 1 and not options.all:
        raise BedError(f"several beds are up ({', '.join(bed.name for bed in beds)}): say --name or --all")
    if not beds:
        progress.say("`up` left no bed running")
    for bed in beds:
        background.stop(bed, progress)


def beds_to_stop(beds: Sequence[slots.Record], name: str | None) -> list[slots.Record]:
    """Without a name only beds left running on purpose: another one is a test's or a demo's, and not ours to end."""
    return [bed for bed in beds if (bed.background if name is None else bed.name == name)]


def show(progress: Progress) -> None:
    beds = slots.live()
    if not beds:
        progress.say("no bed is up")
    for bed in beds:
        use = "" if bed.background else "  in use by that process"
        print(f"{bed.name}  number {bed.index}  pid {bed.pid}  {bed.directory}{use}")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    progress = Progress()
    try:
        match options.command:
            case "up":
                up(options, progress)
            case "hold":
                parts, existing = chosen_parts(options), options.kubeconfig
                background.hold(Bed(options.name, parts, progress=progress, background=True, existing=existing))
            case "down":
                down(options, progress)
            case "clean":
                if not leftovers.clean(progress):
                    progress.say("nothing to clean up")
            case "list":
                show(progress)
            case "build":
                binaries.ensure(TOOLS, progress)
            case "check":
                needs.require()
                for tool in TOOLS.values():
                    go_version(tool.home_directory)
    except BedError as error:
        print(f"bed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
