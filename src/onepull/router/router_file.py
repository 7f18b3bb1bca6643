"""A router as a file describes it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from onepull.atomic_files import path_of
from onepull.decoding import converted
from onepull.errors import OnepullError, ProblemError
from onepull.problem import Problem, toml_values

DEFAULT_STORE = "router.db"  # beside the file, unless it names another


class _Settings(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The table `router`; what is not stated keeps the default of `Router`."""

    name: str | None = None
    store: str | None = None
    expires: float | None = None
    on_expiry: str | dict[str, float | str] | None = None
    fallback: str | None = None
    mode: str | None = None
    sticky: float | None = None
    poll: float | None = None
    snapshot_every: int | None = None
    keep: int | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    problem: dict[str, Any]
    policy: str | dict[str, Any] = "recommended"
    router: _Settings = msgspec.field(default_factory=_Settings)
    service: Any = None  # read by the service


def read_router_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments of `Router` from a TOML file; errors begin with its path."""
    where = path_of(path)
    try:
        text = where.read_bytes()
    except OSError as error:
        raise ProblemError(f"{where}: {error.strerror}") from None
    try:
        return router_values(text, where.absolute().parent, where.stem)
    except OnepullError as error:
        raise ProblemError(f"{where}: {error}") from None


def _check_policy(values: dict[str, Any]) -> None:
    """Raise ProblemError if the policy is in another table, where it would be an unknown field."""
    if "policies" in values:
        raise ProblemError(
            "not a router but an experiment with several policies: use `onepull run`"
        )
    for table in ("router", "problem"):
        inside = values.get(table)
        if isinstance(inside, dict) and "policy" in inside:
            raise ProblemError(
                f"not a router: the policy is in [{table}]; write it above all tables, such as "
                f'policy = "recommended", or as a table [policy] with its name'
            )


def router_values(text: str | bytes, folder: Path, name: str) -> dict[str, Any]:
    """Return the arguments of `Router` from TOML text.

    >>> values = router_values('''
    ... policy = "DCB"
    ... [problem]
    ... arms = ["a", "b"]
    ... reward = "x"
    ... state = {x = {low = 0, high = 1}}
    ... [router]
    ... expires = 30
    ... ''', Path(), "endpoints")
    >>> values["problem"].arms, values["policy"], values["expires"], values["name"]
    (('a', 'b'), 'DCB', 30.0, 'endpoints')
    """
    values = toml_values(text, "a router")
    _check_policy(values)
    read = converted(values, _File, "a router")
    stated = {
        key: value
        for key, value in msgspec.structs.asdict(read.router).items()
        if value is not None
    }
    stated.setdefault("name", name)
    store = stated.get("store", DEFAULT_STORE)
    stated["store"] = store if "://" in store else folder / store
    return {"problem": Problem.from_dict(read.problem), "policy": read.policy, **stated}
