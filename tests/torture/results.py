"""Result folders with damaged files."""

from __future__ import annotations

import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from onepull.cli import main
from torture.area import Area

TEXT = """
application = "channel-selection"
horizon = 200
replications = 8
[[policies]]
policy = "Random"
"""


@cache
def kept() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="onepull-results-")


@cache
def whole() -> tuple[Path, list[str]]:
    """Return a folder of results, and the numbers of its report."""
    folder = Path(kept().name)
    (folder / "run.toml").write_text(TEXT, encoding="utf-8")
    done = CliRunner().invoke(main, ["run", str(folder / "run.toml"), "--on", "threads:1"])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(main, ["report", str(folder / "run")])
    assert shown.exit_code == 0, shown.output
    expected = numbers(folder / "run")
    assert len(expected) > 20, "a report without its tables"
    return folder / "run", expected


def numbers(folder: Path) -> list[str]:
    """Return the numbers in the tables of a report, with all their digits."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    return re.findall(r"<data value='([^']*)'>", text)


def case(seed: int) -> bool:
    """Damage a file of a result folder; the report says so, or shows the same numbers."""
    generator = np.random.default_rng(seed)
    source, expected = whole()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(source, copy)
        (copy / "report.html").unlink()
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        damage(files[int(generator.integers(len(files)))], generator)
        done = CliRunner().invoke(main, ["report", str(copy)])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        if done.exit_code == 0:
            assert numbers(copy) == expected, "other numbers, and exit code 0"
        return done.exit_code == 0


def damage(file: Path, generator: np.random.Generator) -> None:
    """Flip, cut, empty or replace the bytes of a file."""
    written = bytearray(file.read_bytes())
    match int(generator.integers(4)):
        case 0:
            written[int(generator.integers(len(written)))] ^= int(generator.integers(1, 256))
        case 1:
            del written[int(generator.integers(len(written))) :]
        case 2:
            written.clear()
        case _:
            written[:] = generator.bytes(len(written))
    file.write_bytes(bytes(written))


AREA = Area(
    name="results",
    tries="a file of a result folder is damaged; the report says so or shows the same numbers",
    case=case,
    in_tests=6,
    seconds=3.0,  # with a report and its figures
    fixed=("damaged blocks were left out without a word: 539 of 600 replications, exit code 0",),
)
