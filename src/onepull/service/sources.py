"""What to serve: a file, a folder of files, or the demonstration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from onepull.errors import ParameterError, ProblemError
from onepull.problem import toml_values
from onepull.router.router_file import DEFAULT_STORE, read_router_file
from onepull.service.settings import ServiceSettings, merged_settings

FOLDER_SETTINGS = "service.toml"


class Source(msgspec.Struct, frozen=True):
    """What to serve, and how.

    Attributes
    ----------
    routers
        The arguments of each router, as its file states them.
    settings
        How the service runs.
    is_demonstration
        Whether traffic is simulated.
    """

    routers: tuple[dict[str, Any], ...]
    settings: ServiceSettings
    is_demonstration: bool = False


def read_source(
    path: Path | None, options: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> Source:
    """Read what to serve; raises OnepullError with the file if something is wrong."""
    environment = os.environ if environment is None else environment
    if path is None:
        settings = merged_settings({}, environment, options)
        _check_workers(settings)
        return Source((), settings, is_demonstration=True)
    if path.is_dir():
        settings_file = path / FOLDER_SETTINGS
        files = sorted(file for file in path.glob("*.toml") if file.name != FOLDER_SETTINGS)
        table = _toml(settings_file) if settings_file.exists() else {}
        if "service" in table:
            raise ParameterError(
                f"{settings_file}: the whole file is the table [service]; leave out the line "
                "[service]"
            )
        if not files and not options.get("store") and "store" not in table:
            raise ProblemError(f"{path}: has no *.toml file; see docs/how-to/serve-decisions.md")
    else:
        files, settings_file, table = [path], path, {}
    routers = [read_router_file(file) for file in files]
    if path.is_dir():
        _refuse_settings_of_one(files, settings_file)
    else:
        table = _toml(path).get("service", {})
    if not isinstance(table, dict):
        raise ParameterError(f"{path}: [service] must be a table")
    settings = merged_settings(table, environment, options, path=settings_file)
    names = [router["name"] for router in routers]
    for name in names:
        if names.count(name) > 1:
            raise ProblemError(f"{path}: two files describe the problem {name!r}; rename one")
    # Served decisions must last, so a file that names no log gets one beside it.
    named = {str(router["store"]) for router in routers if router.get("store") is not None}
    beside = named.pop() if len(named) == 1 else str(settings_file.parent / DEFAULT_STORE)
    where = settings.store or beside
    routers = [{"store": where, **router} for router in routers]
    if settings.store is not None:
        routers = [{**router, "store": where} for router in routers]
    return Source(tuple(routers), msgspec.structs.replace(settings, store=where))


def _refuse_settings_of_one(files: Iterable[Path], settings_file: Path) -> None:
    """Raise ParameterError if the file of one problem has settings of the whole service."""
    for file in files:
        if "service" in _toml(file):
            raise ParameterError(
                f"{file}: [service] is about the whole folder here, so it has no effect in the "
                f"file of one problem; move it to {settings_file}, without the line [service]"
            )


def _check_workers(settings: ServiceSettings) -> None:
    if settings.workers > 1 and settings.store is None:
        raise ParameterError(
            "several workers need a log that they share: pass --store, such as --store demo.db"
        )


def _toml(path: Path) -> dict[str, Any]:
    try:
        return toml_values(path.read_bytes(), "settings")
    except OSError as error:
        raise ProblemError(f"{path}: {error.strerror}") from None
    except ProblemError as error:
        raise ProblemError(f"{path}: {error}") from None
