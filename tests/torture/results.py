"""Result folders with damaged files."""

from __future__ import annotations

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
def whole() -> tuple[Path, str]:
    """Return a folder of results, and the table that it shows."""
    folder = Path(tempfile.mkdtemp(prefix="onepull-results-"))
    (folder / "run.toml").write_text(TEXT, encoding="utf-8")
    done = CliRunner().invoke(main, ["run", str(folder / "run.toml"), "--on", "threads:1"])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(main, ["report", str(folder / "run")])
    assert shown.exit_code == 0, shown.output
    return folder / "run", (folder / "run" / "report.html").read_text(encoding="utf-8")


def case(seed: int) -> bool:
    """Damage a file of a result folder; what is missing is said, or nothing is missing."""
    generator = np.random.default_rng(seed)
    source, report = whole()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "run"
        shutil.copytree(source, copy)
        files = sorted(p for p in copy.rglob("*") if p.is_file() and "report" not in p.name)
        damage(files[int(generator.integers(len(files)))], generator)
        done = CliRunner().invoke(main, ["report", str(copy)])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        if done.exit_code == 0:
            shown = (copy / "report.html").read_text(encoding="utf-8")
            assert "Random" in shown, "a report without its policy"
            assert len(shown) > len(report) / 2, "a report without its tables"
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
    tries="a file of a result folder is damaged, and the folder is reported",
    case=case,
    in_tests=10,
    seconds=3.0,  # with a report and its figures
    fixed=("damaged blocks were left out without a word: 539 of 600 replications, exit code 0",),
)
