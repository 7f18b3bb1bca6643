"""The summary, for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from torture.area import Area
from torture.record import Record, Tally

START, END = "<!-- torture: begin -->", "<!-- torture: end -->"


def summary(areas: Mapping[str, Area], record: Record) -> Table:
    """Return the table for the terminal."""
    table = Table(title=None, box=None, pad_edge=False)
    table.add_column("area", no_wrap=True)
    for name in ("cases", "refused", "failed", "slowest, s"):
        table.add_column(name, justify="right", no_wrap=True)
    tallies = {name: record.tallies[name] for name in areas if name in record.tallies}
    for name, tally in tallies.items():
        table.add_row(escape(name), *_numbers(tally))
    table.add_row("all", *_numbers(_sum(tallies)))
    return table


def failures(areas: Mapping[str, Area], record: Record) -> list[str]:
    """Return one line for each failure, with the command that repeats it."""
    return [
        f"python tests/torture {name} --case {seed}\n    {failure}"
        for name in areas
        for seed, failure in record.of(name).failures.items()
    ]


def write(path: Path, areas: Mapping[str, Area], record: Record) -> None:
    """Replace the tables of a page of the documentation."""
    before, start, rest = path.read_text(encoding="utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"{path} has no place for the tables: {START} … {END}")
    path.write_text(f"{before}{START}\n{page(areas, record)}\n{END}{after}", encoding="utf-8")


def page(areas: Mapping[str, Area], record: Record) -> str:
    """Return the tables as Markdown."""
    tallies = {name: record.of(name) for name in areas}
    lines = [
        "| area | a case | cases | refused | failed | slowest, s |",
        "|---|---|--:|--:|--:|--:|",
        *(
            f"| {name} | {areas[name].tries} | {' | '.join(_numbers(tally))} |"
            for name, tally in tallies.items()
        ),
        f"| **all** | | {' | '.join(_numbers(_sum(tallies)))} |",
        "",
        "Found by these cases, and fixed:",
        "",
        "| area | what happened |",
        "|---|---|",
        *(f"| {area.name} | {what} |" for area in areas.values() for what in area.fixed),
    ]
    return "\n".join(lines)


def _sum(tallies: Mapping[str, Tally]) -> Tally:
    whole = Tally()
    for tally in tallies.values():
        whole.cases += tally.cases
        whole.refused += tally.refused
        whole.slowest = max(whole.slowest, tally.slowest)
        whole.failures |= {f"{id(tally)} {seed}": told for seed, told in tally.failures.items()}
    return whole


def _numbers(tally: Tally) -> list[str]:
    return [
        f"{tally.cases:,}",
        f"{tally.refused:,}",
        f"{len(tally.failures):,}",
        f"{tally.slowest:.2f}",
    ]
