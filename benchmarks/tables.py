"""Tables: intervals, Markdown, and pages whose tables are replaced by what a command printed.

A table of a page stands between `<!-- table: name -->` and `<!-- end -->`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np


def interval(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and the half-width of its 95 % interval."""
    every = np.array(list(values))
    if len(every) < 2:
        return float(every.mean()), math.nan
    return float(every.mean()), float(1.96 * every.std(ddof=1) / math.sqrt(len(every)))


def markdown(cells: list[list[str]]) -> str:
    """Return a table for a page, also readable on a terminal."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    first, *rest = [
        "| "
        + " | ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in cells
    ]
    line = "|".join(["", "-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:]), ""])
    return "\n".join([first, line, *rest])


def replaced(page: Path, tables: Mapping[str, str]) -> list[str]:
    """Replace every table of a page that has a mark; return the names of those replaced."""
    text = page.read_text("utf-8")
    done = []
    for name, table in tables.items():
        mark = f"<!-- table: {name} -->"
        before, found, rest = text.partition(mark)
        end = re.search(r"<!-- end -->", rest)
        if found and end:
            text = f"{before}{mark}\n{table}\n{rest[end.start() :]}"
            done.append(name)
    page.write_text(text, "utf-8")
    return done
