"""How the service runs: from the command line, the environment and a file, in this order."""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import msgspec

from onepull.decoding import complaint
from onepull.errors import ParameterError
from onepull.html import printable
from onepull.service.keys import keys_beside

VARIABLE_PREFIX = "ONEPULL_"
LOOPBACK_NAMES = ("localhost", "ip6-localhost")


class ServiceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the service runs.

    Each setting can be given in the table `[service]` of a file, as an environment variable such
    as `ONEPULL_PORT`, or as an option of `onepull serve`, which is the strongest.

    Attributes
    ----------
    host
        The address to listen on.  Addresses other than loopback need keys.
    port
        The port; 0 for any free one.
    workers
        How many processes share the port.
    store
        The SQLite file or Postgres address of the log; that of the problem's file by default.
    keys
        The file of keys, as `onepull key add` makes it; keys.json beside the problem's file by
        default, if there is one.
    body
        The longest body of a request, in bytes.
    head
        The longest head of a request, in bytes.
    seconds
        How long a request may take to arrive.
    connections
        How many connections a worker keeps.
    streams
        How many event streams a worker keeps.
    idle
        After how many seconds without a request a connection is closed.
    drain
        How long a stopping worker waits for running requests, in seconds.
    log
        How messages are written: as JSON, as plain text, or by whether somebody watches.
    log_requests
        Whether every request is logged.
    hosts
        More names under which the service may be reached without keys.
    compile
        Whether `AdaptiveKL`, which `recommended` picks, chooses with compiled code.
    redefine
        Whether a file may give a log to another problem, of which nothing learned can be kept.
    error
        By how much estimates may be off after a file has changed the reward or attributes.

    Examples
    --------
    >>> ServiceSettings(port=8080).host
    '127.0.0.1'
    """

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 8000
    workers: Annotated[int, msgspec.Meta(ge=1, le=256)] = 1
    store: str | None = None
    keys: str | None = None
    body: Annotated[int, msgspec.Meta(ge=1024, le=1 << 30)] = 4 << 20
    head: Annotated[int, msgspec.Meta(ge=1024, le=1 << 20)] = 32 << 10
    seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 20.0
    connections: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1000
    streams: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 100
    idle: Annotated[int, msgspec.Meta(ge=1, le=3600)] = 30
    drain: Annotated[int, msgspec.Meta(ge=0, le=3600)] = 20
    log: Literal["auto", "json", "plain"] = "auto"
    log_requests: bool = False
    hosts: tuple[str, ...] = ()
    compile: bool = False
    redefine: bool = False
    error: Annotated[float, msgspec.Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        """Refuse to be open to the network without keys."""
        if self.keys is None and not is_loopback(self.host):
            raise ParameterError(
                f"listening on {printable(self.host)} needs keys: run `onepull key add NAME "
                "--role admin`, and pass its file with --keys; without keys the service listens "
                "on loopback only"
            )

    @property
    def redefining(self) -> dict[str, Any]:
        """The arguments of a router that say what a changed file may do to its log."""
        return {"redefine": self.redefine, "error": self.error}


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "")]
    [True, True, True, False, False]
    """
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def merged_settings(
    file: Mapping[str, Any],
    environment: Mapping[str, str],
    options: Mapping[str, Any],
    *,
    path: Path | None = None,
) -> ServiceSettings:
    """Return the settings of a file, the environment and the command line together.

    `path` is that of the file; paths in it are relative to its folder.

    >>> merged_settings({"port": 1, "idle": 7}, {"ONEPULL_PORT": "2"}, {"port": None}).port
    2
    >>> merged_settings({}, {"ONEPULL_PORT": "high"}, {})
    Traceback (most recent call last):
    onepull.errors.ParameterError: the environment variable ONEPULL_PORT must be a whole number \
from 0 to 65,535, given 'high'
    """
    known = get_type_hints(ServiceSettings, include_extras=True)
    where = "[service]" if path is None else f"{path}: [service]"
    found: dict[str, Any] = {}
    for name, value in file.items():
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f", did you mean {near[0]!r}?" if near else ";"
            raise ParameterError(
                f"{where}: unknown setting {printable(str(name))!r}{hint} allowed: "
                f"{', '.join(known)}"
            )
        found[name] = _read(value, known[name], f"{where} {name}", strict=True)
        if name == "keys" or (name == "store" and "://" not in str(value)):
            found[name] = str((Path() if path is None else path.parent) / found[name])
    for name, kind in known.items():
        variable = f"{VARIABLE_PREFIX}{name.upper()}"
        if environment.get(variable, "") != "":
            value = environment[variable]
            given: Any = value.split(",") if name == "hosts" else value
            found[name] = _read(given, kind, f"the environment variable {variable}", strict=False)
    for name, value in options.items():
        if value is not None:
            found[name] = _read(value, known[name], f"--{name.replace('_', '-')}", strict=True)
    if "keys" not in found and (beside := keys_beside(path)).exists():
        found["keys"] = str(beside)
    return ServiceSettings(**found)


def _read(value: Any, kind: Any, where: str, *, strict: bool) -> Any:
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise ParameterError(f"{where} {complaint(error, kind, value).words}") from None
