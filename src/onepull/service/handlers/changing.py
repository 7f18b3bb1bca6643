"""Changing problems, arms and controls; each change is an event of the log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from onepull.checks import shown
from onepull.errors import ParameterError
from onepull.policies.controls import Share
from onepull.problem import Problem
from onepull.router import Router
from onepull.router.state.expiry import Expiry
from onepull.service.handlers.deciding import known_problem
from onepull.service.http.bodies import Body
from onepull.service.http.exchange import Answer, Exchange
from onepull.service.http.messages import (
    LONGEST_ARM_NAME,
    ArmRequest,
    ControlsRequest,
    NewArmRequest,
    ProblemRequest,
)
from onepull.service.http.problem_details import Refused
from onepull.store import (
    AttributesSet,
    Control,
    Drained,
    FallbackSet,
    ModeSet,
    Paused,
    Pinned,
    Resumed,
    RewardSet,
    ShareSet,
)

if TYPE_CHECKING:
    from onepull.service.service import Service

PROBLEM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
MOST_PROBLEMS = 1000
MOST_ARMS = 10_000  # of a problem over HTTP: a change of the problem takes up to two seconds then
_problem = Body(ProblemRequest)
_controls = Body(ControlsRequest)
_arm = Body(ArmRequest)
_new_arm = Body(NewArmRequest)
UNSET = msgspec.UNSET
STATUS = {"active": Resumed, "paused": Paused, "draining": Drained}
# Settings that a change of a problem keeps unless it names them.
KEPT_SETTINGS = (
    "policy",
    "mode",
    "fallback",
    "expires",
    "on_expiry",
    "sticky",
    "snapshot_every",
    "keep",
)


async def put_problem(service: Service, exchange: Exchange) -> Answer:
    """Create a problem; or change it, if the version in If-Match is the present one."""
    name = exchange.names["problem"]
    if not PROBLEM_NAME.fullmatch(name):
        detail = f"a problem's name has letters, digits, '_', '.' and '-', given {name[:100]!r}"
        raise Refused(422, detail, kind="InvalidName", field="problem")
    asked = _problem.decode(exchange.body)
    answer: Answer = await service.changing(_put, service, exchange, name, asked)
    return answer


def _put(service: Service, exchange: Exchange, name: str, asked: ProblemRequest) -> Answer:
    service.find_others()
    before = service.problems.get(name)
    if before is None and len(service.problems) >= MOST_PROBLEMS:
        raise Refused(409, f"a service has at most {MOST_PROBLEMS} problems", kind="TooMany")
    _check_version(exchange, None if before is None else before.described().version)
    problem = Problem.from_dict(asked.problem)
    _check_number(len(problem.arms))
    _check_names(problem.arms)
    stated = {setting: getattr(asked, setting) for setting in KEPT_SETTINGS}
    stated = {setting: value for setting, value in stated.items() if value is not UNSET}
    kept = {} if before is None else _kept(before.router)
    _check_kept(problem, {setting: kept[setting] for setting in kept if setting not in stated})
    arguments: dict[str, Any] = {
        **kept,
        **stated,
        "problem": problem,
        "name": name,
        "redefine": asked.redefine,
        "error": asked.error,
    }
    hosted = service.host(arguments)
    found = hosted.described()
    return Answer.of(found, 201 if before is None else 200, etag=f'"{found.version}"')


def _kept(router: Router) -> dict[str, Any]:
    """Return the settings that a change keeps."""
    return {"store": router.store, **{name: router.asked[name] for name in KEPT_SETTINGS}}


def _check_kept(problem: Problem, kept: dict[str, Any]) -> None:
    """Refuse settings that the caller did not send, if they do not fit the changed problem."""
    try:
        Expiry.read(kept.get("on_expiry", "give_up"), problem)
    except ParameterError as error:
        raise ParameterError(
            f"{error}; the request leaves out on_expiry, so {shown(kept['on_expiry'])} was kept: "
            "send on_expiry, too, for example 'give_up'"
        ) from None
    fallback = kept.get("fallback")
    if fallback is not None and fallback not in problem.arms:
        raise ParameterError(
            f"the fallback {shown(fallback)} is not an arm; the request leaves out fallback, so it "
            "was kept: send fallback, too: an arm or, in the mode 'live', null"
        )


def _check_version(exchange: Exchange, version: str | None) -> None:
    """Refuse a change of another version than the caller has seen."""
    wanted = exchange.headers.get(b"if-match")
    if exchange.headers.get(b"if-none-match", b"").strip() == b"*" and version is not None:
        raise Refused(412, "the problem exists already", kind="Exists")
    if version is None:
        if wanted is not None:
            raise Refused(412, "there is no such problem yet", kind="WrongVersion")
        return
    if wanted is None:
        detail = "the problem exists; send its version as If-Match to change it"
        raise Refused(428, detail, kind="VersionNeeded")
    tags = [tag.strip().strip(b'"').decode("latin-1") for tag in wanted.split(b",")]
    if version not in tags and "*" not in tags:
        detail = f"the problem has version {version} now; read it and try again"
        raise Refused(412, detail, kind="WrongVersion")


async def patch_controls(service: Service, exchange: Exchange) -> Answer:
    """Change what decides."""
    asked = _controls.decode(exchange.body)
    router, by = (await known_problem(service, exchange)).router, exchange.known.name
    given = {"failure": asked.failure, "error": asked.error, "relearn": asked.relearn or None}
    for field in (name for name, value in given.items() if value is not None):
        if asked.reward is UNSET:
            raise Refused(422, f"{field} goes with reward; give the reward, too", field=field)

    changes = _changes(asked, by)
    reward, failure, error = asked.reward, asked.failure, asked.error
    if asked.relearn and changes:
        raise Refused(
            422, "relearn takes long; send other changes in another request", field="relearn"
        )
    if reward is not UNSET and not asked.relearn:
        changes.append(RewardSet(reward=reward, failure=failure, error=error, by=by))

    def change() -> Answer:
        if reward is not UNSET and asked.relearn:
            router.set_reward(reward, failure=failure, error=error, relearn=True, by=by)
        else:
            router.control(changes)
        return Answer.of(router.stats())

    answer: Answer = await service.changing(change)
    return answer


def _changes(asked: ControlsRequest, by: str) -> list[Control]:
    """Return the changes of the mode, the fallback and the pinned arm."""
    changes: list[Control] = []
    # The fallback first, since modes other than live need one; but live needs none.
    if asked.mode == "live":
        changes.append(ModeSet(mode="live", by=by))
    if asked.fallback is not UNSET:
        changes.append(FallbackSet(arm=asked.fallback, by=by))
    if asked.mode is not UNSET and asked.mode != "live":
        changes.append(ModeSet(mode=asked.mode, by=by))
    if asked.pin is not UNSET:
        changes.append(Pinned(arm=asked.pin, by=by))
    return changes


async def patch_arm(service: Service, exchange: Exchange) -> Answer:
    """Pause, drain or resume an arm; set its shares and attributes."""
    asked = _arm.decode(exchange.body)
    router, by = (await known_problem(service, exchange)).router, exchange.known.name
    arm = _known_arm(router, exchange)
    if asked.attributes is UNSET and asked.error is not None:
        raise Refused(422, "error goes with attributes; give these, too", field="error")

    def change() -> Answer:
        share = router.stats().controls.shares.get(arm, Share())
        # It is checked before anything changes.
        share = Share(
            least=share.least if asked.min_share is UNSET else asked.min_share,
            most=share.most if asked.max_share is UNSET else asked.max_share,
        )
        changes: list[Control] = []
        if asked.attributes is not UNSET:
            known = _named(asked.attributes)
            changes.append(AttributesSet(arm=arm, attributes=known, error=asked.error, by=by))
        if asked.min_share is not UNSET or asked.max_share is not UNSET:
            changes.append(ShareSet(arm=arm, least=share.least, most=share.most, by=by))
        if asked.status is not UNSET:
            changes.append(STATUS[asked.status](arm=arm, by=by))
        router.control(changes)
        return Answer.of(router.stats())

    answer: Answer = await service.changing(change)
    return answer


async def put_arm(service: Service, exchange: Exchange) -> Answer:
    """Add an arm; one that is there with the same attributes stays as it is."""
    asked = _new_arm.decode(exchange.body)
    router, by = (await known_problem(service, exchange)).router, exchange.known.name
    arm = exchange.names["arm"]
    _check_names([arm])

    def change() -> Answer:
        problem = router.problem
        if arm in problem.arms:
            if dict(problem.attributes.get(arm, {})) != asked.attributes:
                detail = f"there is an arm {arm!r} with other attributes; change it with PATCH"
                raise Refused(409, detail, kind="Exists")
        else:
            _check_number(len(problem.arms) + 1)
            router.add_arm(arm, by=by, **_named(asked.attributes))
        return Answer.of(router.stats())

    answer: Answer = await service.changing(change)
    return answer


async def delete_arm(service: Service, exchange: Exchange) -> Answer:
    """Remove an arm and what was learned of it."""
    router, by = (await known_problem(service, exchange)).router, exchange.known.name
    arm = _known_arm(router, exchange)

    def change() -> Answer:
        router.remove_arm(arm, by=by)
        return Answer.of(router.stats())

    answer: Answer = await service.changing(change)
    return answer


def _check_number(arms: int) -> None:
    if arms > MOST_ARMS:
        detail = f"a problem has at most {MOST_ARMS:,} arms over HTTP, and would have {arms:,}"
        raise Refused(422, f"{detail}; serve a file with more", kind="TooMany", field="arms")


def _check_names(arms: Iterable[str]) -> None:
    """Refuse names of arms that requests could not name, and that would spoil logs and metrics."""
    for arm in arms:
        if not 1 <= len(arm) <= LONGEST_ARM_NAME or not arm.isprintable():
            detail = f"the name of an arm has 1 to {LONGEST_ARM_NAME} printable characters, given "
            raise Refused(422, f"{detail}{arm[:100]!r}", kind="InvalidName", field="arm")


def _known_arm(router: Any, exchange: Exchange) -> str:
    arm = exchange.names["arm"]
    if arm not in router.problem.arms:
        names = ", ".join(router.problem.arms[:20])
        raise Refused(404, f"unknown arm {arm[:100]!r}; the arms are {names}", kind="UnknownArm")
    return arm


def _named(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes as keyword arguments; `by` and `error` are the router's own."""
    for own in ("by", "error"):
        if own in attributes:
            raise Refused(422, f"no attribute can be called '{own}'", kind="InvalidBody", field=own)
    return attributes
