"""Tables show the values of the result, in every format."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from onepull.errors import ParameterError
from onepull.report import Estimate, Span, Table, pulls, summary, tidy
from onepull.report.buffer_tables import buffer_summary, buffer_tidy
from onepull.report.table_cells import cell_text
from onepull.simulation.buffered import BufferResult
from onepull.simulation.result import student


def test_summary_is_mean_half_width_and_quantiles_at_the_horizon(result):
    for p, row in enumerate(summary(result).records()):
        runs = result.regrets[p, :, -1]
        assert row["policy"] == result.policies[p]
        assert row["regret"] == pytest.approx(runs.mean())
        half = student(len(runs)) * runs.std(ddof=1) / math.sqrt(len(runs))
        assert row["regret ± 95 %"] == pytest.approx(half)
        assert row["95 % of runs low"] == pytest.approx(np.quantile(runs, 0.025))
        assert row["95 % of runs high"] == pytest.approx(np.quantile(runs, 0.975))
        assert row["p99"] == pytest.approx(np.quantile(runs, 0.99))
        assert row["worst"] == runs.max()
        assert row["storage"] == 4


def test_difference_to_the_baseline_is_paired(result):
    row = summary(result, baseline="DCB").records()[2]
    difference = result.regret("UCB1") - result.regret("DCB")
    half = student(25) * difference.std(ddof=1) / math.sqrt(len(difference))
    assert row["vs DCB"] == pytest.approx(difference.mean())
    assert row["vs DCB ± 95 %"] == pytest.approx(half)


def test_baseline_is_not_compared_with_itself(result):
    row = summary(result, baseline="DCB").records()[0]
    assert row["vs DCB"] is row["vs DCB ± 95 %"] is None


def test_the_guide_explains_the_columns(result):
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "read-a-report.md"
    section = guide.read_text(encoding="utf-8").split("## Columns\n")[1].split("\n## ")[0]
    explained = re.findall(
        r"`([^`]+)`", " ".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))
    )
    headers = summary(result, "DCB").to_markdown().splitlines()[2].strip("| ").split(" | ")
    assert ["policy", *explained] == [h.replace("vs DCB", "vs BASELINE") for h in headers]


@pytest.mark.parametrize("baseline", [None, "DCB"])
def test_plus_minus_has_one_meaning_that_the_table_states(result, baseline):
    table = summary(result, baseline)
    signs = [header for header in table.to_markdown().splitlines()[2].split("|") if "±" in header]
    assert len(signs) == (1 if baseline is None else 2)
    assert all(header.strip().endswith("± 95 %") for header in signs)
    assert "± 95 %: half the width of the 95 % confidence interval of the mean." in table.notes
    assert "8 replications" not in table.title
    assert table.title == "Regret at trial 1,000, 25 replications"


def test_a_printed_result_has_the_same_half_width(result):
    row = summary(result).records()[0]
    first, line, *_ = str(result).splitlines()
    assert first == "regret at trial 1,000, 25 replications, mean ± 95 % confidence interval"
    assert f"{row['regret']:,.2f} ± {row['regret ± 95 %']:,.2f}" in line
    html = result._repr_html_()
    assert "± 95 %" in html
    assert f">{row['regret ± 95 %']:,.2f}<" in html


def test_an_interval_that_would_go_below_zero_is_announced(result):
    said = "Regret is never negative here: an interval that would go below 0 begins at 0."
    assert said not in summary(result).notes
    assert said not in str(result)
    result.regrets[0, :, -1] = 0
    result.regrets[0, 0, -1] = 9
    assert said in summary(result).notes
    assert str(result).splitlines()[-1] == said
    assert said in result._repr_html_()
    result.regrets[1, 0, -1] = -1  # as with realised rewards
    assert said not in summary(result).notes
    assert said not in str(result)
    assert said not in result._repr_html_()


def test_a_column_of_short_numbers_has_one_format():
    values = [0.7, 1.9 - 0.7, 1.0, -2.5, 3, float("inf"), None, True]
    shown = [row[0] for row in Table("t", ["x"], [[value] for value in values]).texts()]
    assert shown == ["0.7", "1.2", "1.0", "−2.5", "3", "∞", "–", "yes"]
    assert Table("t", ["x"], [[1.875], [4.1], [0.0]]).texts() == [["1.875"], ["4.100"], ["0.000"]]
    assert Table("t", ["x"], [[1.0], [10.0], [10**400]]).texts()[:2] == [["1"], ["10"]]
    for others in (0.0005, 1200.0, 123.45):  # too small, too large, too long
        assert Table("t", ["x"], [[1.2], [others]]).texts()[0] == ["1.200"]
    measured = Table("t", ["x"], [[0.7], [1.2], [1.23456]])
    assert measured.texts() == [["0.7"], ["1.200"], ["1.235"]]
    table = Table("t", ["x"], [[0.7], [1.2]])
    assert table.to_markdown().endswith("| 0.7 |\n| 1.2 |")
    assert ">1.2</data>" in table.to_html()
    assert str(table).endswith("0.7\n  1.2")
    assert [str(cell) for cell in table.to_rich().columns[0].cells] == ["0.7", "1.2"]


def test_a_buffers_measures_are_never_below_zero():
    measured = {"reward": np.array([[-1.0, 3.0]]), "lost": np.array([[0.0, 1.0]])}
    result = BufferResult(["all"], 10, measured)
    (row,) = buffer_tidy(result).records()
    assert row["lost_low"] == 0
    assert row["reward_low"] < 0  # a reward may be negative
    assert any("begins at 0" in note for note in buffer_summary(result, "lost", beside=()).notes)
    table = buffer_summary(result, "reward", beside=["lost"])
    assert not any("begins at 0" in note for note in table.notes)
    assert "± 95 %: half the width of the 95 % confidence interval of the mean." in table.notes
    assert list(table.records()[0])[1:] == ["reward", "reward ± 95 %", "lost", "lost ± 95 %"]


@pytest.mark.parametrize("make", [summary, tidy])
def test_unknown_baseline_is_refused_by_name(result, make):
    with pytest.raises(ParameterError, match=r"unknown baseline 'Nobody'.*DCB, Multi-UCB, UCB1"):
        make(result, baseline="Nobody")


def test_optimal_and_other_pulls_add_up(result):
    rows = pulls(result).records()
    assert len(rows) == 6
    for row in rows:
        assert row["optimal"] + row["non-optimal"] == pytest.approx(row["pulls"])
    assert rows[1]["pulls"] == result.pulls[0, -1, 1]


def test_tidy_has_every_row_with_every_parameter_a_column(result):
    table = tidy(result, baseline="UCB1")
    assert table.columns[:4] == ["policy", "epsilon", "delta", "trial"]
    for row, source in zip(table.records(), result.rows("UCB1"), strict=True):
        assert {k: v for k, v in row.items() if v is not None} == source
    assert table.notes == result.notes


def test_one_run_has_no_error_in_json(single):
    row = json.loads(json.dumps(summary(single, "DCB").records(), allow_nan=False))[1]
    assert row["regret ± 95 %"] is None
    assert row["vs DCB ± 95 %"] is None
    assert row["vs DCB"] == pytest.approx(float(single.regret("UCB1")[0] - single.regret("DCB")[0]))


@pytest.mark.parametrize("name", ["result", "hostile"])
def test_json_round_trip(name, request):
    records = tidy(request.getfixturevalue(name)).records()
    assert json.loads(json.dumps(records, allow_nan=False)) == records


@pytest.mark.parametrize("name", ["result", "hostile"])
def test_csv_round_trip_in_full_precision(name, request):
    table = summary(request.getfixturevalue(name), baseline=None)
    for read, kept in zip(
        csv.DictReader(io.StringIO(table.to_csv())), table.records(), strict=True
    ):
        assert {k: type(kept[k])(v) for k, v in read.items()} == kept


class Reader(HTMLParser):
    """Reads back the cells of a table, and notices any element that is not ours."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.values: list[str] = []
        self.tags: set[str] = set()
        self._in_cell = False

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
            self._in_cell = True
        self.values += [value or "" for name, value in attrs if (tag, name) == ("data", "value")]

    def handle_endtag(self, tag):
        self._in_cell = self._in_cell and tag not in {"td", "th"}

    def handle_data(self, data):
        if self._in_cell:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("name", ["result", "hostile"])
def test_html_round_trip_and_escaping(name, request):
    table = pulls(request.getfixturevalue(name))
    reader = Reader()
    reader.feed(table.to_html())
    assert reader.rows[0] == table.columns
    assert reader.rows[1:] == [[cell_text(cell) for cell in row] for row in table.rows]
    assert [float(v) for v in reader.values] == [cell for row in table.rows for cell in row[2:]]
    ours = "div table caption thead tbody tr th td data p"
    assert reader.tags <= set(ours.split())


def test_markdown_keeps_one_line_a_row_and_takes_signs_for_themselves(hostile):
    lines = summary(hostile).to_markdown().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4
    assert r"\<script\>" in rows[2]
    assert "<script>" not in rows[2].replace(r"\<", "")
    assert rows[2].replace(r"\|", "").count("|") == rows[0].count("|")


def test_rich_shows_names_as_they_are_and_numbers_flush_right(hostile):
    table = summary(hostile).to_rich()
    assert [column.justify for column in table.columns][:2] == ["left", "right"]
    console = Console(width=250, file=io.StringIO(), record=True)
    console.print(table)
    assert "[red]t[/red]" in console.export_text()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (100_000, "100,000"),
        (np.int64(7), "7"),
        (17103.46, "17,103"),
        (999.96, "1,000"),
        (310.24, "310.2"),
        (3.14159, "3.142"),
        (0.5, "0.5"),
        (-14.321, "−14.32"),
        (0.0, "0"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
        (Span(math.nan, math.nan), "–"),
        (Span(1, 2.5), "1 to 2.500"),
        (Estimate(17118.84, 26.5), "17,119 ± 26"),
        (Estimate(14.9025, 0.8423), "14.90 ± 0.84"),
        (Estimate(1143.2, 8.43), "1,143.2 ± 8.4"),
        (Estimate(-0.3, 12.71), "0 ± 13"),
        (Estimate(5.0, 9.96), "5 ± 10"),
        (Estimate(2.0, 1e-15), "2 ± 0"),
        (Estimate(0.0, 0.0), "0 ± 0"),
        (Estimate(3.25, math.nan), "3.250"),
        (Estimate(math.nan, math.nan), "–"),
    ],
)
def test_numbers_are_shown_with_the_digits_they_have(value, text):
    assert cell_text(value) == text


def test_rows_and_names_must_fit_the_columns():
    with pytest.raises(ParameterError, match="has 2 columns, but row 2 has 1 cells"):
        Table("t", ["a", "b"], [[1, 2], [3]])
    with pytest.raises(ParameterError, match="two columns of the same name"):
        Table("t", ["a", "a"], [])


def test_an_estimate_is_two_columns_as_data():
    rows: list[list[Any]] = [["paper", 3.5], ["ours", Estimate(2.0, 0.25)], ["none", None]]
    table = Table("t", ["reading", "regret"], rows)
    assert table.to_csv() == "reading,regret,regret ± 95 %\npaper,3.5,\nours,2.0,0.25\nnone,,\n"
    assert "<th scope='col' class='number'>regret ± 95 %</th>" in table.to_html()
    assert "<data value='2.0 0.25'>2.00 ± 0.25</data>" in table.to_html()


def test_an_empty_table_can_be_written():
    table = Table("none", ["a"], [])
    assert table.records() == []
    assert table.to_csv() == "a\n"
    assert "<caption>none</caption>" in table.to_html()
    assert table.to_rich().row_count == 0
