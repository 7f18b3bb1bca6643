"""Replace the tables of a page between marks, so that a page shows what a command printed.

A table stands between `<!-- table: name -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path


def replaced(page: Path, tables: Mapping[str, str]) -> list[str]:
    """Replace every table of a page that has a mark; return the names of those replaced."""
    text = page.read_text("utf-8")
    done = []
    for name, table in tables.items():
        mark = f"<!-- table: {name} -->"
        pattern = re.compile(re.escape(mark) + r".*?<!-- end -->", re.DOTALL)
        written, count = pattern.subn(f"{mark}\n{table}\n<!-- end -->".replace("\\", r"\\"), text)
        if count:
            text = written
            done.append(name)
    page.write_text(text, "utf-8")
    return done
