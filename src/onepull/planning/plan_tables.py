"""A plan as tables and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onepull.html import block, code, note, paragraph
from onepull.html import table as html_table
from onepull.planning.option import Option
from onepull.report import Span, Table
from onepull.report.trade_off import Point, trade_off

if TYPE_CHECKING:  # matplotlib takes 0.6 s to import
    from matplotlib.figure import Figure

    from onepull.planning.planner import Plan


def plan_tables(plan: Plan) -> list[Table]:
    """Return a table of options for each horizon of a plan; the last one has the notes.

    >>> import numpy as np
    >>> from onepull.environment import channel_selection
    >>> from onepull.planning import Plan
    >>> option = Option("DCB", "", {}, 1000, 35, 900.0, np.array([9.0, 11.0]))
    >>> made = Plan(channel_selection().problem, 1000, [option], 1000, option, "best", [])
    >>> plan_tables(made)[0].columns
    ['policy', 'numbers', 'bytes', 'bound', 'regret', '95 % interval']
    """
    trials = dict.fromkeys(option.trial for option in plan.options)
    return [
        _table(
            f"At trial {trial:,}",
            [option for option in plan.options if option.trial == trial],
            plan.notes if trial == max(trials) else [],
        )
        for trial in trials
    ]


def _table(title: str, options: list[Option], notes: list[str]) -> Table:
    columns = ["policy", "δ", "numbers", "bytes", "bound", "regret", "95 % interval", "µs"]
    rows = [
        [
            o.name,
            o.parameters["delta"] if isinstance(o.parameters.get("delta"), float) else None,
            o.numbers,
            o.bytes,
            o.bound,
            o.regret,
            None if o.interval is None else Span(*o.interval),
            o.microseconds,
        ]
        for o in options
    ]
    # A column without any number is left out.
    kept = [i for i in range(len(columns)) if any(row[i] is not None for row in rows)]
    return Table(title, [columns[i] for i in kept], [[row[i] for i in kept] for row in rows], notes)


def plan_html(tables: list[Table], chosen: str | None, proposal: str) -> str:
    """Return the tables of a plan and its proposal for a notebook; the chosen row is highlighted.

    >>> made = plan_html([Table("Plan", ["policy"], [["A & B"]])], "A & B", "It is best.")
    >>> "A &amp; B" in made
    True
    """
    parts = []
    for table in tables:
        cells = table.texts()
        marked = [r for r, row in enumerate(cells) if row[0] == chosen]
        parts.append(html_table(table.title, table.columns, cells, marked=marked))
        parts += map(note, table.notes)
    *call, reason = proposal.splitlines()
    for line in call:
        parts += [paragraph("Proposed:"), code(line.removeprefix("Proposed: "))]
    return block(*parts, paragraph(reason))


def picture(plan: Plan, title: str | None = None) -> Figure:
    """Draw the regret, its bound and the time of a decision against storage.

    >>> import numpy as np
    >>> from onepull.environment import channel_selection
    >>> from onepull.planning import Plan
    >>> option = Option("DCB", "", {}, 1000, 35, 900.0, np.array([9.0, 11.0]))
    >>> made = Plan(channel_selection().problem, 1000, [option], 1000, option, "best", [])
    >>> picture(made).axes[0].get_xlabel()
    'bytes kept'
    """
    points = [
        Point(
            kind=option.kind,
            label=option.label,
            bytes=option.bytes,
            regret=option.regret,
            interval=option.interval,
            bound=option.bound,
            microseconds=option.microseconds,
            is_proposed=plan.proposed is option,
        )
        for option in plan.compared
        if option.regret is not None and option.interval is not None
    ]
    return trade_off(points, trial=plan.judged, title=title)
