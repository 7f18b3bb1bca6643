"""Words, truth values, clipped numbers and no context, from the problem to the simulation."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from policies.mutations import signed
from policy_cases import CASES
from problems import alone, worded

from onepull import (
    CCB,
    DCB,
    UCB1,
    ContextError,
    Discrete,
    EmpiricalKL,
    Environment,
    Finite,
    InputError,
    Interval,
    MultiUCB,
    ParameterError,
    Problem,
    ProblemError,
    RandomizedUCB,
    SaveFileError,
    StateError,
)
from onepull.distributions import Independent, InOrder, Switching, Uniform, empirical
from onepull.experiments import read_experiment
from onepull.policies.linear.features import ScaledFields
from onepull.simulation import simulate
from onepull.simulation.compiled import numba
from onepull.simulation.compiled_formula import machine_code


def test_words_are_read_and_shown():
    regions = Finite(["eu", "us"])
    assert (regions.accept("us"), regions.accept(np.str_("eu"))) == (1.0, 0.0)
    assert (repr(regions), str(regions)) == ('Finite(["eu", "us"])', "one of 'eu', 'us'")
    assert regions != Finite([0, 1])
    for bad in (0, 1.0, "US", "", None, True, b"us", ["us"], np.array("us")):
        with pytest.raises((TypeError, ValueError)):
            regions.accept(bad)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["eu", 1], "numbers or words, not both"),
        (["eu", "eu"], "each value once, given 'eu' twice"),
        (["eu", " "], "printable characters"),
        (["a\nb"], "printable characters"),
        ("eu", "a list of numbers or of words, given 'eu'"),
        ([], "a list of numbers or of words"),
        ([True, "x"], "not both"),
    ],
)
def test_what_is_no_list_of_words_is_refused(values, said):
    with pytest.raises(ProblemError, match=said):
        Finite(values)


def test_truth_values_stand_for_0_and_1_where_nothing_else_is_allowed():
    assert [Finite([0, 1]).accept(v) for v in (True, False, np.True_, 1, 0.0)] == [1, 0, 1, 1, 0]
    assert Finite([False, True]) == Finite([0, 1])
    with pytest.raises(TypeError):
        Finite([0, 1, 2]).accept(True)
    with pytest.raises(TypeError):
        Interval(0, 1).accept(True)


def test_numbers_outside_are_clipped_on_request_only():
    clips = Interval(0, 30, outside="clip")
    assert [clips.accept(v) for v in (-1, 31.5, 7)] == [0.0, 30.0, 7.0]
    assert repr(clips) == "Interval(0, 30, outside='clip')"
    assert clips != Interval(0, 30)
    for bad in (float("nan"), float("inf"), "3", None, True):
        with pytest.raises((TypeError, ValueError)):
            clips.accept(bad)
    with pytest.raises(ProblemError, match="outside must be 'refuse' or 'clip'"):
        Interval(0, 1, outside="wrap")
    policy = DCB(worded())
    policy.observe("a", rate=99, warm=True)
    assert policy.estimates(region="us", size=1)[0] == 2.0
    plain = DCB(alone())
    with pytest.raises(StateError, match="outside='clip'"):
        plain.observe("a", rate=99)


def test_problems_with_words_are_written_and_read():
    for problem in (worded(), alone()):
        assert Problem.from_toml(problem.to_toml()) == problem
        assert Problem.from_json(problem.to_json()) == problem
        assert pickle.loads(pickle.dumps(problem)) == problem  # noqa: S301 - ours
    assert 'region = ["eu", "us"]' in worded().to_toml()
    assert "context" not in alone().to_toml()


def test_a_python_reward_gets_words():
    def reward(region, rate):
        return rate * {"eu": 1.0, "us": 3.0}[region]

    problem = Problem(
        arms=["a"], context={"region": Finite(["eu", "us"])}, state={"rate": Finite([1, 2])},
        reward=reward,
    )  # fmt: skip
    assert problem.payoff(region="us", rate=2) == 6.0
    assert problem.payoff.whole_range == (1.0, 6.0)
    policy = DCB(problem)
    policy.observe("a", rate=2)
    assert policy.estimates(region="eu") == [2.0]


def test_explanations_and_errors_speak_in_words():
    policy = DCB(worded())
    assert policy.explain(region="us", size=3).context == {"region": "us", "size": 3.0}
    assert "with region=us, size=3" in str(policy.explain(region="us", size=3))
    with pytest.raises(ContextError, match="one of 'eu', 'us', given 'mars'"):
        policy.choose(region="mars", size=3)
    assert DCB(alone()).explain().context == {}
    with pytest.raises(ContextError, match="unknown field 'bits'; allowed here: none"):
        DCB(alone()).choose(bits=1)


@pytest.mark.parametrize("name", [name for name, (_, made) in CASES.items() if made() == alone()])
def test_nobody_gives_the_context_of_a_problem_without_one(name):
    build, problem = CASES[name]
    policy = build(problem())
    calls = [
        lambda: policy.choose(no_context=0),
        lambda: policy.explain(no_context=0),
        lambda: policy.pulled("a", no_context=0),
        lambda: policy.observe("a", rate=1, no_context=0),
        lambda: policy.observe("a", reward=1, no_context=0),
        lambda: problem().payoff(rate=1, no_context=0),
    ]
    for call in calls:
        with pytest.raises(InputError, match="unknown field 'no_context'"):
            call()


def test_linear_features_have_one_number_for_each_further_word():
    features = ScaledFields(worded().context)
    assert features.size == 3  # 1, size, region == 'us'
    rows = [(0.0, 1.0), (1.0, 3.0)]
    expected = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]) / np.sqrt(3)
    np.testing.assert_allclose([features.rows(row)[0] for row in rows], expected)
    np.testing.assert_allclose(features.table(np.array(rows))[:, 0], expected)


LAWS = {
    "a": Independent(Uniform(0, 4), Discrete([0, 1], [0.5, 0.5])),
    "b": Independent(Uniform(0, 2), Discrete([1], [1.0])),
    "c": Independent(Uniform(0, 3), Discrete([0], [1.0])),
}


def routed(contexts):
    return Environment(worded(), states=LAWS, contexts=contexts)


def test_laws_hold_words_and_take_the_numbers_of_the_space():
    law = Discrete(["us", "eu"], [0.75, 0.25])
    assert repr(law) == "Discrete(['us', 'eu'], [0.75, 0.25])"
    environment = routed({"region": law, "size": Discrete([1, 3], [0.5, 0.5])})
    rows, weights = environment.contexts.atoms
    shares = {tuple(row): weight for row, weight in zip(rows.tolist(), weights, strict=True)}
    assert shares == {(0.0, 1.0): 0.125, (0.0, 3.0): 0.125, (1.0, 1.0): 0.375, (1.0, 3.0): 0.375}
    rowwise = routed(InOrder([["us", 3], ["eu", 1]]))
    assert rowwise.contexts.atoms[0].tolist() == [[1.0, 3.0], [0.0, 1.0]]
    switching = routed(Switching({0: InOrder([["us", 3]]), 9: InOrder([["eu", 1]])}))
    assert [law.atoms[0].tolist() for _, law in switching.contexts.pieces()] == [
        [[1.0, 3.0]],
        [[0.0, 1.0]],
    ]


@pytest.mark.parametrize(
    ("contexts", "said"),
    [
        (InOrder([["mars", 3]]), "region can be 'mars', which is not one of 'eu', 'us'"),
        (InOrder([[1, 3]]), "need words for region"),
        (InOrder([["us", "3"]]), "size can be '3'"),
        (None, "no law for the contexts, which have the fields region, size"),
    ],
)
def test_laws_that_do_not_fit_are_refused(contexts, said):
    with pytest.raises(ParameterError, match=said):
        routed(contexts)


def test_traces_hold_words(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("where,size\nus,1\neu,3\nus,3\n")
    law = empirical(path, ["where", "size"])
    assert routed(law).contexts.atoms[0].tolist() == [[1.0, 1.0], [0.0, 3.0], [1.0, 3.0]]
    path.write_text("where,size\nus,1\n2,3\n")  # some are numbers, so the word is a mistake
    with pytest.raises(ParameterError, match="row 2: not a finite number"):
        empirical(path, ["where", "size"])


def test_the_simulator_chooses_as_the_library_does():
    class InPython(DCB):
        def _indices(self, request):  # has no compiled form
            return super()._indices(request)

    environment = routed(
        {"region": Discrete(["us", "eu"], [0.6, 0.4]), "size": Discrete([1, 3], [0.5, 0.5])}
    )
    policies = {"compiled": DCB(worded()), "interpreted": InPython(worded())}
    result = simulate(environment, policies, horizon=300, replications=2)
    np.testing.assert_array_equal(*result.pulls)


def test_a_simulation_without_contexts():
    environment = Environment(
        alone(), states={"a": Uniform(0, 1), "b": Uniform(0, 4), "c": Uniform(0, 2)}
    )
    policies = {
        "DCB": DCB(alone()),
        "UCB1": UCB1(alone()),
        "MultiUCB": MultiUCB(alone()),
        "EmpiricalKL": EmpiricalKL(alone(), knots=9),
    }
    result = simulate(environment, policies, horizon=3000, replications=10)
    means = dict(zip(policies, result.regrets[:, :, -1].mean(axis=1).tolist(), strict=True))
    assert means["UCB1"] == pytest.approx(means["MultiUCB"])
    assert means["EmpiricalKL"] < means["DCB"] < 1000


def test_cells_of_words_and_numbers():
    problem = Problem(
        arms=["a", "b"],
        context={"region": Finite(["eu", "us"]), "size": Interval(0, 4)},
        state={"rate": Interval(0, 4)},
        reward="min(size, rate) if region == 'eu' else rate",
    )
    policy = CCB(problem, delta=1.0)
    policy.observe("a", rate=2.0)
    assert policy.estimates(region="eu", size=0.7)[0] == 0.5  # the centre of its cell
    assert policy.estimates(region="us", size=0.7)[0] == 2.0


def test_compiled_formulas_know_the_order_of_words():
    for order in (["eu", "us"], ["us", "eu"]):
        problem = Problem(
            arms=["a"], context={"r": Finite(order)}, state={"x": Interval(0, 1)},
            reward="x if r == 'eu' else 7",
        )  # fmt: skip
        columns = np.array([[order.index("eu"), order.index("us")], [0.5, 0.5]], np.float64)
        rewards = np.empty(2)
        numba.njit(lambda g, c, r: g(c, r))(machine_code(problem.payoff), columns, rewards)
        assert rewards.tolist() == [0.5, 7.0]


def test_words_in_quotes_are_taken_as_they_are():
    odd = ["a b", "a  b", "C#", "münchen", "don't", 'say "x"']
    for word in odd:
        quote = '"' if "'" in word else "'"
        problem = Problem(
            arms=["a"], context={"r": Finite(odd)}, state={"x": Interval(0, 1)},
            reward=f"x + (r == {quote}{word}{quote})",
        )  # fmt: skip
        assert [problem.payoff(r=other, x=0) for other in odd] == [other == word for other in odd]
        assert Problem.from_toml(problem.to_toml()) == problem


def test_a_problem_without_context_is_complete():
    assert alone().payoff(rate=4) == 2.0
    coded = Problem(arms=["a"], state={"x": Finite([0, 1])}, reward=lambda x: 2 * x)
    assert coded.payoff(x=1) == 2.0
    policy = DCB(coded)
    policy.observe("a", x=True)
    assert policy.estimates() == [2.0]
    with pytest.raises(ProblemError, match="unknown name 'no_context'; the fields are x"):
        Problem(arms=["a"], state={"x": Finite([0, 1])}, reward="x + no_context")
    for call in (
        lambda: policy.choose(other=0),
        lambda: policy.observe("a", x=1, other=0),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert "no_context" not in str(caught.value).partition(";")[2]
    assert "no_context" not in policy._repr_html_()


def test_an_experiment_without_contexts(tmp_path):
    text = """
        horizon = 50
        replications = 2
        policies = [{policy = "DCB"}]
        [problem]
        arms = ["a", "b"]
        reward = "x"
        [problem.state]
        x = {low = 0, high = 1}
        [environment.states]
        a = {x = {law = "uniform", low = 0, high = 1}}
        b = {x = {law = "uniform", low = 0, high = 0.5}}
    """
    (tmp_path / "e.toml").write_text(text)
    experiment = read_experiment(tmp_path / "e.toml")
    assert experiment.name == "e"


def test_a_wrong_word_number_in_a_save_file_is_refused():
    policy = RandomizedUCB(worded(), seed=1)
    policy.observe("a", region="us", size=1, rate=1, warm=0)
    for number in (7.0, 1e300, -1.0, 0.5):
        document = json.loads(policy.to_bytes())
        document["saved"]["learned"]["history"]["contexts"][0][0] = number
        with pytest.raises(SaveFileError):
            RandomizedUCB.from_bytes(signed(document))
