"""`python -m tests.house`: rules of the tree that no linter knows. Prints each breach and exits 1 if there is one."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LONGEST = 400
"""Lines of a Python file. One idea a file: what is longer holds two."""

VAGUE = re.compile(r"(^|/)(utils?|helpers?|common|misc|manager)\.py$")
PLACES = re.compile(
    r"/home/\w+/|/work/(main|shared)|/root/(?!\.cache)"
    r"|pypi\.org|pythonhosted|proxy\.golang|sum\.golang|deb\.debian\.org"
)
"""A path of one machine, or a package host: the tree must work with any mirror, anywhere."""


# Also where the tree belongs to another user, as in containers: nothing of it is run.
LIST = ("git", "-c", "safe.directory=*", "ls-files", "-z")


def tracked() -> list[Path]:
    names = subprocess.run(LIST, check=True, capture_output=True, text=True).stdout
    return [path for name in names.split("\0") if name and (path := Path(name)).is_file()]


def breaches(path: Path, text: str) -> Iterator[str]:
    if path.suffix == ".py":
        lines = text.count("\n")
        if lines > LONGEST:
            yield f"{path}: {lines} lines; split it, {LONGEST} is the most"
        if VAGUE.search(str(path)):
            yield f"{path}: name the file after what is in it"
    if path != Path("tests/house.py"):
        for number, line in enumerate(text.splitlines(), 1):
            if found := PLACES.search(line):
                yield f"{path}:{number}: names {found.group()!r}"


def main() -> int:
    count = 0
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # no text, so no line to judge
        for breach in breaches(path, text):
            print(breach)
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
