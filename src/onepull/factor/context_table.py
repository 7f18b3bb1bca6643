"""One feature per context: the factorisation of DCB."""

from __future__ import annotations

from onepull.errors import ParameterError
from onepull.factor.cells import Cells, listed_axis
from onepull.problem import Problem, given_problem
from onepull.spaces import Finite


class ContextTable(Cells):
    """One feature for each of finitely many contexts; exact.

    >>> from onepull import Interval
    >>> table = ContextTable(Problem(
    ...     arms=["wifi", "lte"],
    ...     context={"bits": Finite([1, 2, 3, 4])},
    ...     state={"capacity": Interval(0, 7)},
    ...     reward="min(bits, capacity)",
    ... ))
    >>> table.features, table.error
    (4, 0.0)
    >>> table.psi((2.5,))
    [1.0, 2.0, 2.5, 2.5]
    """

    error = 0.0

    def __init__(self, problem: Problem) -> None:
        axes = {}
        for name, space in given_problem(problem).context.items():
            if not isinstance(space, Finite):
                raise ParameterError(
                    f"context field {name!r} is {space!r}, but a table needs finitely many "
                    "contexts; divide it into cells with a delta, as CCB does"
                )
            axes[name] = listed_axis(space)
        super().__init__(problem, axes)

    def _rebuilt(self, problem: Problem) -> ContextTable:
        return ContextTable(problem)
