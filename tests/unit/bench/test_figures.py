"""What a benchmark says of itself: ratio, aim and whether it is met, in the file and on the screen."""

import io

import orjson
import pytest
from rich.console import Console

from e2e.bench.figures import Aim, Figure, table, write

FAST = Figure("claims_1000", "claims/s", Aim(0.9), ours=95.0, bare=100.0, peer=40.0)
SLOW = Figure("idle_claim", "ms", Aim(1.5, at_most=True), ours=16.0, bare=10.0)
LARGE = Figure("memory_10000", "MB", Aim(100, at_most=True, of_bare=False), ours=99.95, bare=60.0)


def test_an_aim_of_the_ratio_is_judged_by_the_ratio():
    assert FAST.met
    assert not SLOW.met


def test_an_aim_of_the_value_is_judged_by_the_value():
    assert LARGE.met
    assert not Figure("memory_10000", "MB", LARGE.aim, ours=100.5, bare=90.0).met


def test_an_aim_of_the_ratio_needs_one():
    with pytest.raises(ValueError, match="ratio"):
        _ = Figure("claims_1000", "claims/s", Aim(0.9), ours=95.0).met


def test_the_file_has_every_field_of_every_figure(tmp_path):
    write([FAST, SLOW], tmp_path / "build" / "bench.json")
    assert orjson.loads((tmp_path / "build" / "bench.json").read_bytes()) == {
        "figures": [
            {
                "name": "claims_1000",
                "unit": "claims/s",
                "ours": 95.0,
                "bare": 100.0,
                "peer": 40.0,
                "ratio": 0.95,
                "aim": ">= 0.9 of bare",
                "met": True,
            },
            {
                "name": "idle_claim",
                "unit": "ms",
                "ours": 16.0,
                "bare": 10.0,
                "peer": None,
                "ratio": 1.6,
                "aim": "<= 1.5 of bare",
                "met": False,
            },
        ]
    }


def test_the_table_shows_what_was_missed():
    screen = Console(file=io.StringIO(), width=140)
    screen.print(table([FAST, SLOW, LARGE]))
    assert isinstance(screen.file, io.StringIO)
    rows = {line.split()[1]: line for line in screen.file.getvalue().splitlines() if line.startswith("│")}
    assert "NO" in rows["idle_claim"]
    assert "yes" in rows["claims_1000"]
    assert "<= 100 " in rows["memory_10000"]
