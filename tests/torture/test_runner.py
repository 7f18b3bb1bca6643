"""The machinery itself: what counts as a failure, and going on where a run stopped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from torture.area import Area, run_case
from torture.record import Record
from torture.runner import outcomes, torture
from torture.tables import END, START, failures, write

COMMAND = [sys.executable, str(Path(__file__).parent)]


def area(case, **more):
    return Area(name="some", tries="something", case=case, in_tests=1, **more)


def raises(seed):
    raise KeyError(seed)


def warns(seed):
    warnings.warn("careful", RuntimeWarning, stacklevel=1)
    return bool(seed)


def idles(seed):
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    return bool(seed)


@pytest.mark.parametrize(
    ("case", "said"), [(raises, "KeyError: 7"), (warns, "RuntimeWarning"), (idles, "CPU time")]
)
def test_what_is_raised_warned_or_slow_is_a_failure(case, said):
    outcome = run_case(area(case, seconds=0.01), 7)
    assert outcome.seed == 7
    assert said in (outcome.failure or "")


def ends_at_5(seed):
    if seed == 5:
        os._exit(3)
    return seed % 2 == 0


def ends_quietly_at_5(seed):
    if seed == 5:
        os._exit(0)
    return True


def hangs_at_5(seed):
    if seed == 5:
        time.sleep(600)
    return True


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (ends_at_5, "ended the process with code 3"),
        (ends_quietly_at_5, "ended the process with code 0"),
        (hangs_at_5, "hung for 5 s"),
    ],
)
def test_the_case_that_ends_the_process_or_hangs_is_named(case, said):
    found = list(outcomes(area(case, silence=5.0), 2, time.monotonic() + 60))
    assert [outcome.seed for outcome in found] == [2, 3, 4, 5]
    assert [outcome.failure for outcome in found] == [None, None, None, said]
    assert [outcome.accepted for outcome in found[:3]] == [case(seed) for seed in (2, 3, 4)]


class Enough(Exception):  # noqa: N818 - not an error: the test has seen what it wants
    """Ends a run."""


def test_a_run_goes_on_after_a_case_that_ends_the_process(tmp_path):
    record, numbers = Record(tmp_path / "record.json"), []

    def tell(_, outcome):
        numbers.append(outcome.seed)
        if outcome.seed == 8:
            raise Enough

    with pytest.raises(Enough):
        torture([area(ends_at_5)], 1.0, record, tell)
    assert numbers == list(range(9))
    assert list(record.of("some").failures) == ["5"]


def test_a_record_counts_and_is_kept(tmp_path):
    record = Record.open(tmp_path / "kept" / "record.json", fresh=False)
    tally = record.of("some")
    for seed in range(4):
        tally.add(run_case(area(lambda seed: seed > 1), seed))
    tally.add(run_case(area(raises), 4))
    record.save()
    again = Record.open(record.path, fresh=False).of("some")
    assert (again.cases, again.refused, again.next_seed, list(again.failures)) == (5, 2, 5, ["4"])
    assert Record.open(record.path, fresh=True).tallies == {}


def test_failures_name_the_command_and_tables_go_into_a_page(tmp_path):
    record, areas = Record(tmp_path / "record.json"), {"some": area(raises, fixed=("a bug",))}
    record.of("some").add(run_case(areas["some"], 3))
    (line,) = failures(areas, record)
    assert line.startswith("python tests/torture some --case 3\n    KeyError: 3")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    write(page, areas, record)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| some | something | 1 | 0 | 1 |" in text
    assert "| some | a bug |" in text
    assert "old" not in text


def test_a_later_run_goes_on_where_the_last_one_stopped(tmp_path):
    counts = []
    for _ in range(2):
        done = subprocess.run(
            [*COMMAND, "save-bytes", "--minutes", "1e-3", "--record", tmp_path / "record.json"],
            check=True,
            capture_output=True,
            text=True,
        )
        shown = re.search(r"save-bytes\s+([\d,]+)", done.stdout)
        assert shown, done.stdout
        counts.append(int(shown[1].replace(",", "")))
    assert 0 < counts[0] < counts[1]


def test_one_case_is_repeated():
    done = subprocess.run(
        [*COMMAND, "save-bytes", "--case", "3"], check=True, capture_output=True, text=True
    )
    assert done.stdout == "refused\n"
