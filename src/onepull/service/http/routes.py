"""Every route: method, path, role, what goes in and what comes out.

The dispatcher, the OpenAPI document and the tests of roles are made from this one table.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import unquote

from onepull.checks import some, unknown
from onepull.service.handlers import changing, deciding, operating, reading
from onepull.service.http import answers
from onepull.service.http import messages as m
from onepull.service.http.exchange import Answer, Exchange, Stream
from onepull.service.http.problem_details import Refused
from onepull.service.keys import Role

if TYPE_CHECKING:
    from onepull.service.service import Service

Handler: TypeAlias = Callable[["Service", Exchange], Awaitable[Answer | Stream]]

PROBLEM = "/v1/problems/{problem}"
NDJSON = "application/x-ndjson"
EVENTS = "text/event-stream"
TEXT = "text/plain"
LONGEST_NAME = 100  # of a field of a query, in an error


class Query(NamedTuple):
    """A field of a query."""

    name: str
    schema: dict[str, Any]
    told: str


class Route(NamedTuple):
    """One thing that the service does.

    Attributes
    ----------
    role
        The least role that a key needs; None if anybody may ask.
    takes
        The type of the body, None if there is none.
    gives
        The type of the answer, or its media type if it is not JSON.
    refuses
        The statuses of errors beside those that all routes share.
    query
        The fields that its query may have; others are refused.
    takes_context
        Whether the query may also have fields of the problem's context.
    """

    method: str
    path: str
    handler: Handler
    role: Role | None
    told: str
    takes: Any = None
    gives: Any = None
    refuses: tuple[int, ...] = ()
    query: tuple[Query, ...] = ()
    made: bool = False  # whether the answer may be 201
    takes_context: bool = False

    def check_query(
        self, given: Mapping[str, Collection[str]], context: Iterable[str] = ()
    ) -> None:
        """Raise Refused if a query has a parameter that is neither its own nor of the context.

        Only a list may come several times: of two values, neither is known to be meant.

        >>> find_route("GET", b"/v1/problems/llm/log")[0].check_query({"afer": ["1"]})
        Traceback (most recent call last):
        onepull.service.http.problem_details.Refused: unknown query parameter 'afer', did you mean \
'after'? Allowed here are after, limit
        """
        known = [*(query.name for query in self.query), *context]
        lists = [query.name for query in self.query if query.schema["type"] == "array"]
        for name, values in given.items():
            if len(values) > 1 and name in known and name not in lists:
                words = f"the query has {name!r} {len(values)} times; send it once"
                raise Refused(422, words, kind="InvalidQuery", field=name)
            if name not in known:
                allowed = f"allowed here are {some(known)}" if known else "none is allowed here"
                words = unknown("query parameter", name[:LONGEST_NAME], known, allowed)
                raise Refused(422, words, kind="InvalidQuery", field=name[:LONGEST_NAME])


_WHOLE = {"type": "integer", "minimum": 0}
_AFTER = Query("after", _WHOLE, "Events after this sequence number; 0 for all.")
_LIMIT = Query("limit", {"type": "integer", "minimum": 1, "maximum": 10_000}, "At most so many.")
_SECONDS = Query(
    "seconds", {"type": "number", "minimum": 1, "maximum": 2_592_000}, "How far to look back."
)
_BUCKETS = Query(
    "buckets", {"type": "integer", "minimum": 1, "maximum": 5000}, "At most so many columns."
)

ROUTES = (
    Route("POST", f"{PROBLEM}/decisions", deciding.decide, Role.WRITER,
          "Choose an arm for a request.", m.DecisionRequest, answers.DecisionAnswer),
    Route("POST", f"{PROBLEM}/observations", deciding.observe, Role.WRITER,
          "Learn what became of decisions; the answer comes when it is on disk.",
          m.ObservationRequest | m.Batch, m.ObservationsAnswer, (409,)),
    Route("GET", "/v1/problems", reading.problems, Role.READER,
          "List the problems.", None, answers.ProblemsAnswer),
    Route("GET", PROBLEM, reading.problem, Role.READER,
          "Show a problem, its policy and its controls.", None, answers.ProblemAnswer),
    Route("PUT", PROBLEM, changing.put_problem, Role.ADMIN,
          "Create a problem, or change it with If-Match.", m.ProblemRequest,
          answers.ProblemAnswer, (409, 412, 428), made=True),
    Route("GET", f"{PROBLEM}/stats", reading.stats, Role.READER,
          "Show what was counted and learned of each arm.", None, answers.StatsAnswer),
    Route("GET", f"{PROBLEM}/explain", reading.explain, Role.READER,
          "Explain the choice for a context, given as the query.", None,
          answers.ExplanationAnswer,
          query=(Query("eligible", {"type": "array", "items": {"type": "string"}},
                       "The arms that may be chosen; all by default."),),
          takes_context=True),
    Route("GET", f"{PROBLEM}/curves", reading.curves, Role.READER,
          "Show each arm's estimate along one field of the context.", None,
          answers.CurvesAnswer, (),
          (Query("field", {"type": "string"}, "The field; the first by default."),
           Query("points", {"type": "integer", "minimum": 2, "maximum": 200}, "How many.")),
          takes_context=True),
    Route("GET", f"{PROBLEM}/timeline", reading.timeline, Role.READER,
          "Show decisions, observations and rewards over time.", None,
          answers.TimelineAnswer, (), (_SECONDS, _BUCKETS)),
    Route("GET", f"{PROBLEM}/changes", reading.changes, Role.READER,
          "Show the newest changes that operators made.", None, answers.ChangesAnswer),
    Route("GET", f"{PROBLEM}/warnings", reading.warnings, Role.READER,
          "Show what is believed of drift, and states that depend on the context.", None,
          answers.WarningsAnswer),
    Route("POST", f"{PROBLEM}/what-if", reading.what_if, Role.READER,
          "Compute at once how shares and payoff would change with another reward.",
          m.WhatIfRequest, answers.WhatIfAnswer, (503,)),
    Route("GET", f"{PROBLEM}/log", reading.log, Role.READER,
          "Read the log, an event a line.", None, NDJSON, (), (_AFTER, _LIMIT)),
    Route("POST", f"{PROBLEM}/replay", reading.replay, Role.READER,
          "Compute what another reward or policy would have chosen and earned.",
          m.ReplayRequest, answers.ReplayAnswer, (503,)),
    Route("PATCH", f"{PROBLEM}/controls", changing.patch_controls, Role.ADMIN,
          "Change what decides: the mode, a pinned arm, the fallback, the reward.",
          m.ControlsRequest, answers.StatsAnswer),
    Route("PATCH", f"{PROBLEM}/arms/{{arm}}", changing.patch_arm, Role.ADMIN,
          "Pause, drain or resume an arm; set its shares and attributes.",
          m.ArmRequest, answers.StatsAnswer),
    Route("PUT", f"{PROBLEM}/arms/{{arm}}", changing.put_arm, Role.ADMIN,
          "Add an arm.", m.NewArmRequest, answers.StatsAnswer, (409,)),
    Route("DELETE", f"{PROBLEM}/arms/{{arm}}", changing.delete_arm, Role.ADMIN,
          "Remove an arm and what was learned of it.", None, answers.StatsAnswer),
    Route("GET", "/events", operating.events, Role.READER,
          "Follow all problems live.", None, EVENTS, (503,),
          (Query("problem", {"type": "string"}, "One problem; all by default."),)),
    Route("GET", "/metrics", operating.metrics, Role.READER,
          "All metrics, as Prometheus reads them.", None, TEXT),
    Route("GET", "/health/live", operating.live, None,
          "Whether the process runs.", None, m.Health),
    Route("GET", "/health/ready", operating.ready, None,
          "Whether requests can be answered.", None, m.Health, (503,)),
    Route("GET", "/openapi.json", operating.openapi, None,
          "This document.", None, dict[str, Any]),
)  # fmt: skip

_PARTS = [(re.split("/", route.path)[1:], route) for route in ROUTES]


NO_PATH = "no such path; GET /openapi.json lists them"


def find_route(method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
    """Return the route of a request and the variable parts of its path; raises Refused.

    >>> find_route("GET", b"/v1/problems/llm/stats")[1]
    {'problem': 'llm'}
    """
    try:
        parts = raw_path.decode("ascii").split("/")[1:]
    except UnicodeDecodeError:
        raise Refused(404, NO_PATH) from None
    allowed = []
    for pattern, route in _PARTS:
        if len(pattern) != len(parts):
            continue
        names = {}
        for wanted, given in zip(pattern, parts, strict=True):
            if wanted.startswith("{"):
                names[wanted[1:-1]] = unquote(given)
            elif wanted != given:
                break
        else:
            if method == route.method or (method == "HEAD" and route.method == "GET"):
                return route, names
            allowed.append(route.method)
    if allowed:
        verbs = ", ".join(allowed)
        raise Refused(
            405, f"{method} is not allowed here; allowed: {verbs}",
            headers=((b"allow", verbs.encode()),),
        )  # fmt: skip
    raise Refused(404, NO_PATH)
