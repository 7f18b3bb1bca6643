"""Laws are read from TOML as they are built in Python; what cannot be is refused by name."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from onepull import distributions as d
from onepull.environment import Environment
from onepull.errors import MissingExtra, ProblemError
from onepull.experiments.toml_laws import LAWS, delays_of, law_of
from onepull.problem import Problem
from onepull.spaces import Box, Interval

DATA = Path(__file__).parents[3] / "shared" / "data"
ONE = Box(gain=Interval(0, 1000))
TWO = Box(rate=Interval(0, 1e6), speed=Interval(0, 1e6))

# How each law is written, and what that is in Python.
WRITTEN = {
    "discrete": ("values = [0, 3], probabilities = [0.25, 0.75]", d.Discrete([0, 3], [0.25, 0.75])),
    "in-order": ("values = [3, 1, 2]", d.InOrder([3, 1, 2])),
    "scaled-bernoulli": ("value = 3, probability = 0.5", d.scaled_bernoulli(3, 0.5)),
    "uniform": ("low = 1, high = 4", d.Uniform(1, 4)),
    "beta": ("a = 2, b = 3, low = 1, high = 5", d.Beta(2, 3, low=1, high=5)),
    "truncated-normal": (
        "mean = 1, sd = 0.5, low = 0.1, high = 2",
        d.TruncatedNormal(1, 0.5, low=0.1, high=2),
    ),
    "log-normal": ("mean = 0.5, sd = 0.25", d.LogNormal(0.5, 0.25)),
    "exponential": ("mean = 2.5", d.Exponential(2.5)),
    "gamma": ("mean = 2, shape = 3", d.Gamma(mean=2, shape=3)),
    "rayleigh": ("snr_db = 10", d.Rayleigh(snr_db=10)),
    "rician": ("snr_db = 9, k = 4", d.Rician(snr_db=9, k=4)),
    "nakagami": ("snr_db = 9.5, m = 2", d.Nakagami(snr_db=9.5, m=2)),
    "truncated": (
        'of = {law = "exponential", mean = 2}, low = 1, high = 5',
        d.Truncated(d.Exponential(2), 1, 5),
    ),
    "clipped": (
        'of = {law = "truncated", of = {law = "log-normal", mean = 0, sd = 1}, low = 1}, high = 5',
        d.Clipped(d.Truncated(d.LogNormal(0, 1), low=1), high=5),
    ),
    "mixture": (
        (
            'of = [{weight = 0.75, law = "uniform", low = 0, high = 1}, '
            '{weight = 0.25, gain = {law = "exponential", mean = 9}}]'
        ),
        d.Mixture([(0.75, d.Uniform(0, 1)), (0.25, d.Exponential(9))]),
    ),
    "failing": (
        'of = {law = "uniform", low = 0, high = 1}, chance = 0.25',
        d.Failing(d.Uniform(0, 1), 0.25),
    ),
}


def read(toml, box=ONE, folder=Path()):
    return law_of(msgspec.toml.decode(toml)["law_under_test"], box, folder, "states of arm 'a'")


def law(text, box=ONE, folder=Path()):
    return read(f"law_under_test = {text}", box, folder)


def refused(text, *, box=ONE, folder=Path()):
    with pytest.raises(ProblemError) as caught:
        law(text, box, folder)
    told = str(caught.value)
    assert told.startswith("states of arm 'a'")
    return told


def trace(folder, text="rate,speed\n10,1\n20,2\n40,4\n"):
    (folder / "trace.csv").write_text(text)
    return folder


def test_every_law_is_tried_here():
    assert set(WRITTEN) | {"trace"} == set(LAWS)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_law_for_a_field_and_for_the_whole_state(name):
    text, expected = WRITTEN[name]
    stated = f'{{law = "{name}", {text}}}'
    for found in (law(stated), law(f"{{gain = {stated}}}")):
        assert (type(found), repr(found)) == (type(expected), repr(expected))
        drawn, again = (law.sample(np.random.default_rng(1), 5) for law in (found, expected))
        np.testing.assert_array_equal(drawn, again)


def test_a_law_of_all_fields_keeps_them_together():
    found = law('{law = "discrete", values = [[1, 10], [2, 20]], probabilities = [0.5, 0.5]}', TWO)
    assert found.fields == 2
    assert {tuple(row) for row in found.sample(np.random.default_rng(1), 50)} == {(1, 10), (2, 20)}


def test_laws_of_fields_go_by_the_order_of_the_problem():
    speed, rate = ('{law = "uniform", low = 5, high = 6}', '{law = "uniform", low = 1, high = 2}')
    found = law(f"{{speed = {speed}, rate = {rate}}}", TWO)
    assert repr(found) == "Independent(Uniform(low=1, high=2), Uniform(low=5, high=6))"


def test_a_mixture_of_laws_of_several_fields():
    found = law(
        """{law = "mixture", of = [
            {weight = 0.5, speed = {law = "uniform", low = 5, high = 6},
             rate = {law = "clipped", of = {law = "exponential", mean = 2}, high = 3}},
            {weight = 0.5, law = "discrete", values = [[1, 10]], probabilities = [1]},
        ]}""".replace("\n", " ").replace(", ]", "]"),
        TWO,
    )
    assert repr(found) == (
        "Mixture([(0.5, Independent(Clipped(Exponential(mean=2), high=3), "
        "Uniform(low=5, high=6))), (0.5, Discrete([[1.0, 10.0]], [1.0]))])"
    )


def test_delays_may_be_mixed_and_cut():
    stated = {"law": "truncated", "of": {"law": "exponential", "mean": 20}, "high": 50}
    assert repr(delays_of(stated, Path())) == "Truncated(Exponential(mean=20), high=50)"


def test_switching_between_whole_laws_and_laws_of_fields():
    found = read(
        """
        [[law_under_test]]
        from = 1000
        gain = {law = "uniform", low = 0, high = 1}
        [[law_under_test]]
        from = 0
        law = "exponential"
        mean = 3
        """
    )
    assert [(start, repr(law)) for start, law in found.pieces()] == [
        (0, "Exponential(mean=3)"),
        (1000, "Uniform(low=0, high=1)"),
    ]


@pytest.mark.parametrize(("in_order", "kind"), [("false", d.Discrete), ("true", d.InOrder)])
def test_a_trace_beside_the_file(tmp_path, in_order, kind):
    stated = (
        f'{{law = "trace", path = "trace.csv", columns = ["speed", "rate"], in_order = {in_order}}}'
    )
    found = law(stated, TWO, trace(tmp_path))
    assert type(found) is kind
    np.testing.assert_array_equal(found.atoms[0], [[1, 10], [2, 20], [4, 40]])
    np.testing.assert_allclose(found.atoms[1], 1 / 3)


def test_a_trace_for_one_field(tmp_path):
    stated = '{law = "trace", path = "trace.csv", columns = ["rate"]}'
    found = law(f'{{rate = {stated}, speed = {{law = "uniform", low = 0, high = 1}}}}', TWO,
                trace(tmp_path))  # fmt: skip
    assert found.expectation(lambda rate, speed: rate * speed) == pytest.approx(35 / 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"uniform"', "a law must be a table, given 'uniform'"),
        ("{}", "needs a law for each of gain, given none"),
        ('{gian = {law = "uniform", low = 0, high = 1}}', "each of gain, given gian"),
        ("{gain = 3}", "field 'gain': a law must be a table with the key 'law', given 3"),
        ("{gain = {low = 0, high = 1}}", "a table with the key 'law'"),
        ('{law = "unifrom", low = 0, high = 1}', "unknown law 'unifrom', did you mean 'uniform'?"),
        ('{gain = {law = ["uniform"]}}', "unknown law ['uniform']"),
        ('{law = "uniform", low = 0, hihg = 1}', "law 'uniform' does not take hihg; it takes low"),
        ('{law = "uniform", low = 0}', "law 'uniform' needs high"),
        ('{law = "uniform", low = 1, high = 0}', "Uniform high must be above 1, given 0"),
        ('{law = "uniform", low = "a", high = 0}', "must be a finite number, given 'a'"),
        ('{law = "discrete", values = [1, 2], probabilities = [0.5, 0.6]}', "sum to 1"),
        ('{law = "discrete", values = [1, 2], probabilities = [1]}', "one probability per state"),
        ('{law = "in-order", values = 3}', "InOrder takes a list of points, given 3"),
        ('{law = "in-order", values = []}', "InOrder takes"),
        ('{law = "log-normal", mean = 1e4, sd = 1}', "reaches from e^"),
        ('{law = "trace", path = 3, columns = ["rate"]}', "'int'"),
        ('{law = "trace", path = "none.csv", columns = ["rate"]}', "no such file"),
        ('{law = "trace", path = "none.csv", columns = "rate"}', "takes a list of column names"),
        ('{law = "truncated", high = 3}', "law 'truncated' needs of"),
        ('{law = "truncated", of = 3, high = 3}', "'truncated': a law must be a table, given 3"),
        ('{law = "truncated", of = {law = "exponential", mean = 1}}', "one of them finite"),
        ('{law = "clipped", of = {law = "exponental"}, low = 0}', "unknown law 'exponental'"),
        ('{law = "clipped", of = [], low = 0}', "Clipped takes a law, given []"),
        ('{law = "mixture", of = {law = "exponential", mean = 1}}', "pairs of a weight and a law"),
        ('{law = "mixture", of = []}', "pairs of a weight and a law"),
        ('{law = "mixture", of = [3]}', "part 1: must be a law with the key 'weight', given 3"),
        ('{law = "mixture", of = [{law = "exponential", mean = 1}]}', "part 1: must be a law with"),
        ('{law = "mixture", of = [{weight = 0.5, law = "exponential", mean = 1}]}', "sum to 1"),
        ('{law = "mixture", of = [{weight = 1, gian = {law = "rayleigh", snr_db = 1}}]}',
         "'mixture', part 1: needs a law for each of gain, given gian"),
        ("[]", "Switching takes laws by the trial they begin at"),
        ("[3]", "piece 1: needs the key 'from'"),
        ('[{law = "exponential", mean = 1}]', "piece 1: needs the key 'from'"),
        ('[{from = "x", law = "exponential", mean = 1}]', "piece 1: needs the key 'from'"),
        ('[{from = 0.5, law = "exponential", mean = 1}]', "piece 1: needs the key 'from'"),
        ('[{from = 9, law = "exponential", mean = 1}]', "the first at 0, given [9]"),
        (
            '[{from = 0, law = "rayleigh", snr_db = 1}, {from = 0, law = "exponential", mean = 2}]',
            "two pieces begin at trial 0",
        ),
        ('[{from = 0, law = "exponental", mean = 1}]', "from 0: unknown law 'exponental'"),
    ],
)  # fmt: skip
def test_what_is_not_a_law_is_refused_by_name(text, words, tmp_path):
    assert words in refused(text, folder=tmp_path)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"rate,speed\n1,2\n", "has no column 'gain' among its 2 columns"),
        (b"gain\n", "no rows below its header"),
        (b"", "has no column 'gain'"),
        (b"gain\n1\nfast\n", "row 3: not a finite number"),
        (b"gain\n\xff\xfe\n", "not a text file in UTF-8"),
        (b'gain\n"' + b"9" * 200_000 + b'"\n', "field larger than field limit"),
    ],
)
def test_what_is_not_a_trace_is_refused(tmp_path, contents, words):
    (tmp_path / "trace.csv").write_bytes(contents)
    stated = '{law = "trace", path = "trace.csv", columns = ["gain"]}'
    assert words in refused(stated, folder=tmp_path)


def test_parquet_without_its_reader_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "trace.parquet").write_bytes(b"PAR1")
    stated = '{law = "trace", path = "trace.parquet", columns = ["gain"]}'
    with pytest.raises((MissingExtra, ProblemError), match="pip install pyarrow"):
        law(stated, folder=tmp_path)


# Recorded cloud machines and language-model endpoints, where they have been fetched.

RECORDED = {
    "azure_vm/short_4arms_2h.csv": ("io_MiBps", "cpu_bogops"),
    "azure_vm/long_5arms_6h.csv": ("io_MiBps", "cpu_bogops"),
    "llm_endpoints/llama2_7b_4arms.csv": ("ttft_s", "decode_s_per_tok"),
}


def recorded(name):
    file = DATA / name
    if not file.exists():
        pytest.skip(f"the recorded trace {name} is not in ../shared/data")
    return file


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_arms(name):
    file, (first, second) = recorded(name), RECORDED[name]
    header = file.read_text().splitlines()[0].split(",")
    arms = [column.removesuffix(f"_{first}") for column in header if column.endswith(first)]
    assert len(arms) >= 4
    for arm in arms:
        columns = f'["{arm}_{first}", "{arm}_{second}"]'
        stated = f'{{law = "trace", path = "{file.name}", columns = {columns}}}'
        found = law(stated, TWO, file.parent)
        plain = np.genfromtxt(file, delimiter=",", names=True, dtype=None, encoding="utf-8")
        np.testing.assert_allclose(
            [found.expectation(lambda x, _: x), found.expectation(lambda _, y: y)],
            [plain[f"{arm}_{first}"].mean(), plain[f"{arm}_{second}"].mean()],
        )
    problem = Problem(
        arms=arms,
        context={"size": Interval(1, 10)},
        state={"x": Interval(0, 1e6), "y": Interval(0, 1e6)},
        reward="clip(size * x - y, 0, 1)",
    )
    Environment(problem, states=dict.fromkeys(arms, found), contexts=d.Uniform(1, 10))


def test_recorded_contexts():
    file = recorded("llm_endpoints/azure_llm_contexts.csv")
    stated = (
        f'{{law = "trace", path = "{file.name}", '
        'columns = ["ContextTokens", "GeneratedTokens"], in_order = true}'
    )
    found = law(stated, TWO, file.parent)
    assert found.in_order
    np.testing.assert_array_equal(found.sample(np.random.default_rng(), 2), [[4808, 10], [3180, 8]])


def test_a_recorded_column_that_is_not_numbers_is_refused():
    file = recorded("llm_endpoints/llmperf_requests.csv")
    stated = f'{{law = "trace", path = "{file.name}", columns = ["provider"]}}'
    assert "can be a word, which is not a finite number" in refused(stated, folder=file.parent)
