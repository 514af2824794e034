"""Figures: what was measured, what it is compared to, what it should be; as JSON and as a table."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Aim:
    """At most or at least so much, of the measured value itself or of its ratio to the bare writer's."""

    limit: float
    at_most: bool = False
    of_bare: bool = True

    def met_by(self, ours: float, ratio: float | None) -> bool:
        """Raises ValueError for an aim of the ratio where there is none."""
        value = ratio if self.of_bare else ours
        if value is None:
            raise ValueError(f"the aim {self} needs a ratio to the bare writer")
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        sign = "<=" if self.at_most else ">="
        return f"{sign} {self.limit:g} of bare" if self.of_bare else f"{sign} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the result.

    ours, bare, peer  in `unit`; bare is the same writes with no logic, peer the in-cluster provider; None: not measured
    """

    name: str
    unit: str
    aim: Aim
    ours: float
    bare: float | None = None
    peer: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.bare if self.bare else None

    @property
    def met(self) -> bool:
        return self.aim.met_by(self.ours, self.ratio)

    def as_json(self) -> dict[str, Any]:
        numbers = {"ours": self.ours, "bare": self.bare, "peer": self.peer, "ratio": self.ratio}
        rounded = {key: None if value is None else float(f"{value:.4g}") for key, value in numbers.items()}
        return {"name": self.name, "unit": self.unit, **rounded, "aim": str(self.aim), "met": self.met}


def write(figures: Sequence[Figure], path: Path) -> None:
    """Write {"figures": [...]}; makes the directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"figures": [figure.as_json() for figure in figures]}
    path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def table(figures: Sequence[Figure]) -> Table:
    """For the screen."""
    made = Table(title="pxnet against a bare writer and the in-cluster provider")
    for heading in ("figure", "unit", "ours", "bare", "peer", "ratio", "aim", "met"):
        made.add_column(heading, justify="left" if heading in ("figure", "unit", "aim") else "right")
    for figure in figures:
        item = asdict(figure)
        numbers = ["-" if item[key] is None else f"{item[key]:.4g}" for key in ("ours", "bare", "peer")]
        ratio = "-" if figure.ratio is None else f"{figure.ratio:.2f}"
        made.add_row(figure.name, figure.unit, *numbers, ratio, str(figure.aim), "yes" if figure.met else "NO")
    return made
