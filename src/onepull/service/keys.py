"""Keys and roles: who may do what.

A key is random text that is shown once.  The file of keys has its SHA-256 only, so reading the
file lets nobody in.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from onepull.atomic_files import write
from onepull.errors import ParameterError, SaveFileError
from onepull.html import printable

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]

FILE = "keys.json"
KEY_PREFIX = "onepull_"
MOST_KEYS = 1000
LONGEST_KEY_NAME = 60
_CHECK = 1.0  # seconds between two looks at the file


class Role(IntEnum):
    """What a key may do; each role may also do what those before it may.

    >>> Role.ADMIN > Role.WRITER > Role.READER
    True
    """

    READER = 1  # look: stats, explanations, log, events, metrics, replay
    WRITER = 2  # ask for decisions and send observations
    ADMIN = 3  # change problems, arms and controls

    @classmethod
    def named(cls, name: str) -> Role:
        """Return a role by its name.

        >>> Role.named("writer").name
        'WRITER'
        """
        try:
            return cls[name.upper()]
        except KeyError:
            names = ", ".join(role.name.lower() for role in cls)
            raise ParameterError(f"role must be one of {names}, given {name!r}") from None


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One key: its name, its role, its SHA-256, and when it was made."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_KEY_NAME)]
    role: str
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    created: float


class _File(msgspec.Struct, forbid_unknown_fields=True):
    keys: Annotated[list[Key], msgspec.Meta(max_length=MOST_KEYS)]
    version: int = 1


def keys_beside(source: Path | None) -> Path:
    """Return the default file of keys of a service: beside what it serves.

    >>> keys_beside(Path("routers", "llm.toml")).as_posix(), keys_beside(None).as_posix()
    ('routers/keys.json', 'keys.json')
    """
    if source is None:
        return Path(FILE)
    return (source if source.is_dir() else source.parent) / FILE


def named_keys(path: Path) -> list[Key]:
    """Return the keys of a file that a setting names; raises ParameterError if there is none."""
    if not path.exists():
        raise ParameterError(
            f"there is no file of keys {path}; make it with `onepull key add NAME --role admin "
            f"--keys {path}`"
        )
    return read_keys(path)


def key_digest(token: str) -> str:
    """Return the SHA-256 of a key as the file has it.

    >>> key_digest("onepull_x")[:8]
    '170e2f27'
    """
    return hashlib.sha256(token.encode()).hexdigest()


def read_keys(path: Path) -> list[Key]:
    """Return the keys of a file; raises SaveFileError if it is damaged."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    try:
        found = msgspec.json.decode(text, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SaveFileError(f"{path} is not a file of keys: {printable(str(error))}") from None
    if found.version != 1:
        raise SaveFileError(f"{path} is of version {found.version}; this onepull reads version 1")
    for key in found.keys:
        Role.named(key.role)
    return found.keys


def add_key(path: Path, name: str, role: Role) -> str:
    """Add a key to a file and return its text, which is not kept anywhere.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     token = add_key(Path(folder, "keys.json"), "gateway", Role.WRITER)
    ...     [(key.name, key.role) for key in read_keys(Path(folder, "keys.json"))]
    [('gateway', 'writer')]
    """
    if not name or len(name) > LONGEST_KEY_NAME or printable(name) != name:
        raise ParameterError(
            f"a key needs a name of 1 to {LONGEST_KEY_NAME} printable characters, given {name!r}"
        )
    token = f"{KEY_PREFIX}{secrets.token_urlsafe(32)}"
    with _locked(path):
        keys = read_keys(path)
        if any(key.name == name for key in keys):
            raise ParameterError(f"there is a key {name!r} already; revoke it, or use another name")
        if len(keys) >= MOST_KEYS:
            raise ParameterError(f"a file has at most {MOST_KEYS} keys; revoke some")
        made = Key(name, role.name.lower(), key_digest(token), round(time.time(), 3))
        _write(path, [*keys, made])
    return token


def revoke_key(path: Path, name: str) -> None:
    """Remove a key from a file; a running server notices within a second.

    The last key cannot be removed while the server would then be open: the file stays, without
    keys, and lets nobody in.
    """
    with _locked(path):
        keys = read_keys(path)
        left = [key for key in keys if key.name != name]
        if len(left) == len(keys):
            names = ", ".join(key.name for key in keys) or "none"
            raise ParameterError(f"no key {name!r}; the keys are: {names}")
        _write(path, left)


def _write(path: Path, keys: list[Key]) -> None:
    is_new = not path.exists()
    write(path, msgspec.json.format(msgspec.json.encode(_File(keys)), indent=2) + b"\n")
    if is_new:
        path.chmod(0o600)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Let one process at a time change a file of keys."""
    if fcntl is None:  # pragma: no cover - not on Windows
        yield
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


class KeyHolder(NamedTuple):
    """Whose key it is, and what it may do."""

    name: str
    role: Role


ANYBODY = KeyHolder("", Role.ADMIN)  # where no key is needed


class Keys:
    """The keys of a server, read again when their file changes.

    Without a file everybody may do everything; the server then listens on loopback only.  A file
    that has vanished or is damaged lets nobody in.

    Examples
    --------
    >>> Keys(None).find(b"").role.name
    'ADMIN'
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._keys: list[tuple[bytes, KeyHolder]] = []
        self._stamp: tuple[int, int, int] | None = None
        self._next_look = 0.0
        self.problem = ""
        if path is not None:
            self._set(read_keys(path))
            self._stamp = self._look()

    @property
    def are_needed(self) -> bool:
        """Whether a request needs a key."""
        return self.path is not None

    def find(self, authorization: bytes) -> KeyHolder | None:
        """Return whose key a request has, `Authorization: Bearer …`; None if it is not known."""
        if self.path is None:
            return ANYBODY
        if (now := time.monotonic()) >= self._next_look:
            self._next_look = now + _CHECK
            self._read_again()
        scheme, _, token = authorization.partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        given = hashlib.sha256(token.strip()).hexdigest().encode()
        found = None
        for sha256, key in self._keys:  # all of them, so that time tells nothing
            if hmac.compare_digest(sha256, given):
                found = key
        return found

    def _read_again(self) -> None:
        if self.path is None or (stamp := self._look()) == self._stamp:
            return
        try:
            self._set(read_keys(self.path))
            self.problem = "" if stamp is not None else f"{self.path} has vanished"
        except (SaveFileError, ParameterError, OSError) as error:
            self._keys = []
            self.problem = str(error)
        self._stamp = stamp

    def _set(self, keys: list[Key]) -> None:
        self._keys = [
            (key.sha256.encode(), KeyHolder(key.name, Role.named(key.role))) for key in keys
        ]

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = (self.path or Path()).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
