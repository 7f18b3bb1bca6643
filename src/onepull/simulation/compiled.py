"""Compiling plain functions, once for each version of their source."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from onepull.errors import MissingExtra

try:
    import numba
except ImportError:
    raise MissingExtra(
        "the simulator needs the 'simulate' extra: pip install 'onepull[simulate]'"
    ) from None

Function = TypeVar("Function", bound=Callable[..., Any])

DAYS_UNUSED = 30  # after so many, what another version compiled is thrown away


def source_digest() -> str:
    """Return a digest of the whole source and of the compiler's version.

    Two processes with the same digest simulate the same bits.
    """
    package = Path(__file__).parent.parent
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(package.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Return where compiled code is kept.

    The compiler's own cache does not notice a change in what a function takes from another
    file, so the folder is named after the whole source.  Those of other versions are thrown
    away when no process has asked for them for 30 days.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "onepull" / f"kernels-{source_digest()}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        os.utime(folder)  # in use
        prune(folder)
    except (OSError, RuntimeError):  # nowhere to write, or no home
        folder = Path(tempfile.mkdtemp(prefix="onepull-kernels-"))
    return folder


def prune(current: Path) -> None:
    """Throw away the folders beside the current one that were not used for 30 days.

    A folder is renamed before it is emptied, so nobody finds half of one.  A process that is
    still using it compiles anew what it has not loaded yet.
    """
    oldest = time.time() - DAYS_UNUSED * 24 * 3600
    # Those pruned before are what a process left behind that died while it threw them away.
    found = [*current.parent.glob("kernels-*"), *current.parent.glob("pruned-*")]
    for folder in found:
        try:
            if folder == current or folder.is_symlink() or not folder.is_dir():
                continue
            if folder.stat().st_mtime >= oldest:
                continue
            aside = folder.rename(folder.with_name(f"pruned-{uuid4().hex}"))
        except OSError:  # another process was quicker, or it is not ours to throw away
            continue
        shutil.rmtree(aside, ignore_errors=True)


def is_warm() -> bool:
    """Whether kernels of this version have been compiled here before."""
    return any(cache_folder().rglob("*.nbi"))


@contextmanager
def kept() -> Iterator[None]:
    """Keep what is compiled within in our own folder, and leave other people's code alone."""
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def compiled(function: Function, *, keep: bool = True) -> Function:
    """Compile a function that runs without the interpreter's lock; it is kept on disk if asked."""
    with kept():
        made: Function = numba.njit(function, cache=keep, nogil=True, error_model="numpy")
    if keep:
        _keep_apart(made)
    return made


def _keep_apart(made: Any) -> None:
    """Give every compilation of a function a file of its own.

    The compiler numbers the files of a function's signatures.  Two processes that keep
    two signatures at once would both take the next number, and one would later run the
    other's code.  With names of their own, all that can be lost is an entry of the index: that
    signature is compiled once more.
    """
    file = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if file is not None:  # it is not where the compiler is told not to compile
        numbered = file._data_name  # noqa: SLF001 - there is no other way to name them
        file._data_name = lambda number: f"{uuid4().hex}-{numbered(number)}"  # noqa: SLF001


def inlined(function: Function) -> Function:
    """Compile a small function into whatever compiled function calls it.

    Inlined as machine code: inlined as source, its arrays would be new variables, each with
    references to count.
    """
    return numba.njit(function, error_model="numpy", forceinline=True)  # type: ignore[no-any-return]


def reachable(*functions: Callable[..., Any]) -> None:
    """Let compiled functions call plain ones by their names, as these call each other."""
    for function in functions:
        numba.extending.register_jitable(error_model="numpy")(function)
