"""Laws read from traces, and the errors for invalid traces."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest

from onepull.distributions import InOrder, empirical
from onepull.distributions.fits_space import check_fit
from onepull.errors import MissingExtra, ParameterError
from onepull.spaces import Box, Finite, Interval, Space

TRACE = "time,gain,rate\n0,1.5,10\n1,2.5,20\n2,1.5,30\n"


@pytest.fixture
def write(tmp_path):
    def made(text, name="trace.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return made


def test_every_row_weighs_the_same(write):
    law = empirical(write(TRACE), ["gain"])
    assert law.atoms[0].tolist() == [[1.5], [2.5], [1.5]]
    assert law.expectation(lambda x: x) == pytest.approx(5.5 / 3, rel=1e-15)
    assert law.support == [(1.5, 2.5)]


def test_columns_become_fields_in_the_order_asked_for(write):
    law = empirical(write(TRACE), ["rate", "gain"])
    assert law.fields == 2
    assert law.atoms[0].tolist() == [[10, 1.5], [20, 2.5], [30, 1.5]]


def test_a_trace_can_be_replayed(write):
    law = empirical(str(write(TRACE)), ["time"], in_order=True)
    assert isinstance(law, InOrder)
    assert law.sample(np.random.default_rng(0), 5)[:, 0].tolist() == [0, 1, 2, 0, 1]


def test_blank_lines_at_the_end_and_a_byte_order_mark_do_no_harm(write):
    law = empirical(write("\ufeff" + TRACE + "\n\n"), ["time"])
    assert len(law.atoms[0]) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gain\n1\nmany\n", r"row 3: not a finite number"),
        ("gain\n1\n\n2\n", r"row 3: not a finite number"),
        ("gain\nnan\n", r"row 2: not a finite number"),
        ("gain\n1\ninf\n", r"row 3: not a finite number"),
        ("time,gain\n1,2\n3\n", r"row 3: not a finite number"),
        ("gain\n", "no rows below its header"),
        ("power,rate\n1,2\n", "no column 'gain' among its 2 columns"),
        ("", "no column 'gain'"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_place(write, text, said):
    path = write(text)
    with pytest.raises(ParameterError, match=said) as error:
        empirical(path, ["gain"])
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path, tmp_path / "none.parquet"):
        with pytest.raises(ParameterError, match="no such file"):
            empirical(path, ["gain"])


@pytest.mark.parametrize("columns", [[], "gain"])
def test_columns_are_a_list(write, columns):
    with pytest.raises(ParameterError, match="list of column names"):
        empirical(write(TRACE), columns)


HAS_PYARROW = importlib.util.find_spec("pyarrow") is not None


@pytest.mark.skipif(HAS_PYARROW, reason="pyarrow is installed")
def test_parquet_without_pyarrow_says_what_to_install(write):
    with pytest.raises(MissingExtra, match="pip install pyarrow"):
        empirical(write("", "trace.parquet"), ["gain"])


@pytest.mark.skipif(not HAS_PYARROW, reason="needs pyarrow")
def test_parquet_reads_like_csv(tmp_path):
    arrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    path = tmp_path / "trace.parquet"
    parquet.write_table(arrow.table({"gain": [1.5, 2.5], "name": ["a", None]}), path)
    assert empirical(path, ["gain"]).atoms[0].tolist() == [[1.5], [2.5]]
    with pytest.raises(ParameterError, match="row 3: not a word"):
        empirical(path, ["name"])
    with pytest.raises(ParameterError, match="no column 'rate'"):
        empirical(path, ["rate"])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("eu\n1", "row 2: not a finite number; a column holds numbers or words"),
        ("1\neu", "row 3: not a finite number"),
        ("1\nnan", "row 3: not a finite number"),
        ('eu\n" "', "row 3: not a word; .* no cell is empty"),
    ],
)
def test_a_column_holds_numbers_or_words(write, rows, said):
    with pytest.raises(ParameterError, match=said):
        empirical(write(f"region\n{rows}\n"), ["region"])


@pytest.mark.parametrize("header", ["gain,gain", "time,gain,gain", "rate,gain,rate"])
def test_two_columns_of_the_same_name_are_refused(write, header):
    path = write(f"{header}\n1,2,3\n")
    with pytest.raises(ParameterError, match=r"columns \d and \d have the same name"):
        empirical(path, ["gain"])


def test_columns_without_a_name_are_allowed(write):
    assert empirical(write("gain,,\n1,2,3\n"), ["gain"]).atoms[0].tolist() == [[1]]


@pytest.mark.parametrize(
    "secret",
    ["root:x:0:0:hunter2", "-----BEGIN KEY-----\nhunter2", "gain\nhunter2", "hunter2,hunter2"],
)
@pytest.mark.parametrize("column", ["gain", "root:x:0:0:hunter", "-----BEGIN KEY-----"])
def test_an_error_never_shows_what_is_in_the_file(write, secret, column):
    spaces: tuple[Space, ...] = (Interval(0, 1), Finite([1, 2]), Finite(["eu", "us"]))
    for name, space in itertools.product(("trace.csv", "trace.parquet"), spaces):
        box = Box(gain=space)
        with pytest.raises((ParameterError, MissingExtra)) as caught:
            check_fit(empirical(write(secret, name), [column]).on(box), box, "the states")
        assert "hunter2" not in str(caught.value)


def test_a_column_that_differs_in_case_or_spaces_is_proposed(write):
    with pytest.raises(ParameterError, match=r"no column 'gain'; did you mean ' Gain'\?"):
        empirical(write("time, Gain\n1,2\n"), ["gain"])


@pytest.mark.parametrize("columns", [[3], [["gain"]], {"gain": 1}, 3, None])
def test_columns_are_names(write, columns):
    with pytest.raises(ParameterError, match="takes a list of column names"):
        empirical(write(TRACE), columns)
