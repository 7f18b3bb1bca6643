"""Let the recommended policy decide with compiled code."""

from __future__ import annotations

from onepull.policies.kept_states.compiled_search import COMPILED


def compile_decisions(*, use: bool = True) -> None:
    """Let `AdaptiveKL`, which `recommended` picks, choose with compiled code from now on.

    It chooses the same arms, unless rewards are below 1e-280; if the arms are few, in half of the
    time.  Call it when your program starts, before requests come: it takes about a third of a
    second, and three seconds the first time on a machine, in which other threads wait.  It is for
    all policies of this process, and does not change what is learned.
    Raises MissingExtra if the `simulate` extra is not installed.

    Parameters
    ----------
    use
        False goes back to numpy.

    Examples
    --------
    >>> from onepull import AdaptiveKL, Interval, Problem
    >>> policy = AdaptiveKL(
    ...     Problem(arms=["a", "b"], state={"x": Interval(0, 1)}, reward="x")
    ... )
    >>> policy.observe_many(["a", "b"] * 9, x=[0.9, 0.1] * 9)
    >>> compile_decisions()
    >>> policy.choose()
    'a'
    >>> compile_decisions(use=False)
    """
    if not use:
        COMPILED.leader = None
        return
    from onepull.simulation.kernels import leading_arm  # noqa: PLC0415 - needs the extra

    leading_arm.compile_search()
    COMPILED.leader = leading_arm.leading_arm
