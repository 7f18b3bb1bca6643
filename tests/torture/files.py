"""Damaged and hostile problem and experiment files."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from onepull import Problem
from onepull.errors import OnepullError
from onepull.experiments import read_experiment, read_problem_file
from torture.area import Area

EXAMPLES = Path(__file__).parents[2] / "examples"
# What is put in place of a value, or between two characters.
VALUES = (
    "nan", "inf", "-inf", "-1", "0", "1e308", "-1e308", "1e-320", "10" * 20,
    "true", '""', "[]", "{}",
    "[[]]", "[{}]", '"DCB"', '"os:system"', '"[/x]"', "'\x1b[31m'", "1979-05-27", "2.5", '"inf"',
    "9223372036854775808", "18446744073709551616", "1_000", '"a" ', "[1, [2]]", "{low = 0}",
)  # fmt: skip
PIECES = ("\x00", "\ufeff", "é", "\u202e", "=", "[", "]", '"', "#", "\n", "{", "}", "'", ".", "\\")


@cache
def texts() -> tuple[str, ...]:
    """Return the experiment files of the examples."""
    return tuple(
        file.read_text(encoding="utf-8")
        for file in sorted(EXAMPLES.glob("*.toml"))
        if ".csv" not in file.read_text(encoding="utf-8")
    )


def case(seed: int) -> bool:
    """Read a file with a few changes as an experiment, as a problem file and as a problem."""
    generator = np.random.default_rng(seed)
    text = texts()[int(generator.integers(len(texts())))]
    for _ in range(int(generator.integers(1, 4))):
        text = changed(text, generator)
    written = text.encode("utf-8", "surrogatepass")
    if generator.random() < 0.1:
        place = int(generator.integers(len(written) + 1))
        written = written[:place] + generator.bytes(3) + written[place:]
    accepted = False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.toml"
        path.write_bytes(written)
        for read in (read_experiment, read_problem_file, read_problem):
            with suppress(OnepullError):
                read(path)
                accepted = True
    return accepted


def read_problem(path: Path) -> Problem:
    """Read a file that holds nothing but a problem."""
    return Problem.from_toml(path.read_bytes())


def changed(text: str, generator: np.random.Generator) -> str:
    """Return the text with one random change: of a value, a line, a key or a character."""
    lines = text.splitlines()
    settings = [number for number, line in enumerate(lines) if "=" in line]
    place = int(generator.integers(len(lines)))
    match int(generator.integers(6)):
        case 0 | 1:
            number = int(generator.choice(settings)) if settings else place
            key = lines[number].partition("=")[0]
            lines[number] = f"{key}= {VALUES[int(generator.integers(len(VALUES)))]}"
        case 2:
            del lines[place]
        case 3:
            lines.insert(place, lines[int(generator.integers(len(lines)))])
        case 4:
            other = int(generator.integers(len(lines)))
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            at = int(generator.integers(len(text) + 1))
            piece = PIECES[int(generator.integers(len(PIECES)))]
            return text[:at] + piece + text[at + int(generator.integers(3)) :] or "\n"
    return "\n".join(lines) + "\n"


AREA = Area(
    name="files",
    tries="an experiment file with a few changes is read as experiment and as problem",
    case=case,
    in_tests=300,
    fixed=(
        "`horizon = 10**30` ended in a traceback",
        "a file with a byte-order mark was refused unclearly",
    ),
)
