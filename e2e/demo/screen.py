"""How the demo looks: chapters, commands with their output, YAML, a live table; plain lines where there is no terminal.

It knows nothing of clusters. Everything goes to one stream, in order.
"""

import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from e2e.demo.news import claim_text
from e2e.demo.table import FAILED, Row

WIDTH = 120
"""Columns where nobody says how many there are."""
ROOMY = 110
"""Columns from which on the whole table of machines fits."""
SPARED = ("  TENANT", "NODE")


class Screen:
    """One run of the demo on one stream; the clock in the headings starts here."""

    def __init__(self, stream: TextIO | None = None) -> None:
        out = stream or sys.stdout
        self.console = Console(file=out, highlight=False, width=None if out.isatty() else WIDTH, soft_wrap=False)
        self._begun = time.monotonic()

    @property
    def terminal(self) -> bool:
        return self.console.is_terminal

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._begun

    def title(self, name: str, subtitle: str) -> None:
        self.console.print(Text.assemble((name, "bold cyan"), "  ", (subtitle, "")))

    def chapter(self, title: str, why: str) -> None:
        """A heading, and in a sentence or two why it matters."""
        self.console.print()
        heading = Text.assemble((title, "bold"), (f"  {self.elapsed:.0f} s", "dim"))
        self.console.print(Rule(heading, align="left", style="cyan"))
        self.console.print(Text(why, "italic" if self.terminal else ""))

    def say(self, text: str, style: str = "") -> None:
        """One line, indented under its chapter."""
        self.console.print(Text(f"  {text}", style), soft_wrap=True)

    def good(self, text: str) -> None:
        """Something that was checked and holds."""
        self.console.print(Text.assemble("  ", ("✓ ", "bold green"), text), soft_wrap=True)

    def bad(self, text: str) -> None:
        """Why it ends here."""
        self.console.print(Text.assemble(("✗ ", "bold red"), (text, "bold")), soft_wrap=True)

    def command(self, line: str, output: str) -> None:
        """A command as one would type it, and what it said."""
        self.console.print()
        self.console.print(Text.assemble("  ", ("$ ", "dim"), (line, "bold")), soft_wrap=True)
        for text in output.rstrip().splitlines():
            # Never cut: the end of a line is often the reason why it is shown.
            self.console.print(Text(f"    {text}".rstrip(), "cyan" if self.terminal else ""), soft_wrap=True)

    def yaml(self, text: str) -> None:
        """A manifest."""
        self.console.print()
        if self.terminal:
            shown = Syntax(text.rstrip(), "yaml", theme="ansi_dark", background_color="default")
            self.console.print(Padding(shown, (0, 0, 0, 4)))
            return
        self.console.print(Text(textwrap.indent(text.rstrip(), "    ")), soft_wrap=True)

    @contextmanager
    def table(self, rows: Callable[[], Sequence[Row]], note: Callable[[], str]) -> Iterator[None]:
        """Around a piece of work: the machines, redrawn while it lasts; where there is no terminal drawn at its end."""
        self.console.print()
        if not self.terminal:
            yield
            self.console.print(machine_table(rows(), self.console.width))
            return
        look = Live(
            get_renderable=lambda: Group(machine_table(rows(), self.console.width), Text("  " + note(), "dim")),
            console=self.console,
            refresh_per_second=5,
        )
        with look:
            yield


def machine_table(rows: Sequence[Row], width: int = WIDTH) -> Table:
    """The machines, one row each; without tenant and node where there is no room for them."""
    wide = width >= ROOMY
    heads = ("  TENANT", "CLUSTER", "MACHINE", "NODE", "BRIDGE", "VLAN", "ADDRESS", "CLAIM", "PHASE")
    table = Table(box=None, padding=(0, 2 if wide else 1, 0, 0), header_style="bold", pad_edge=False)
    for head in heads:
        if wide or head not in SPARED:
            table.add_column(head, justify="right" if head == "VLAN" else "left", no_wrap=True)
    for row in rows:
        cells: dict[str, str | Text] = {
            "  TENANT": "  " + row.namespace,
            "CLUSTER": row.cluster,
            "MACHINE": row.machine.removeprefix(f"{row.cluster}-"),
            "NODE": row.node,
            "BRIDGE": row.bridge,
            "VLAN": row.vlan,
            "ADDRESS": Text("\n".join(row.addresses), "bold green"),
            "CLAIM": Text(claim_text(row, short=not wide), "" if row.answered else "yellow"),
            "PHASE": Text(row.phase, "green" if row.ready else "red" if row.phase == FAILED else "yellow"),
        }
        table.add_row(*(cells[head] for head in heads if wide or head not in SPARED))
    return table
