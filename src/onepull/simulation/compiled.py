"""Compile plain functions with numba, and cache the result for each version of the source."""

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
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import types
    from numba.extending import intrinsic
except ImportError:
    raise MissingExtra(
        "the simulator needs the 'simulate' extra: pip install 'onepull[simulate]'"
    ) from None

# With the compiler's own names, for modules that must not import it before this one.
__all__ = [
    "DAYS_UNUSED",
    "cache_folder",
    "compiled",
    "inlined",
    "intrinsic",
    "ir",
    "is_warm",
    "kept",
    "numba",
    "prune",
    "reachable",
    "source_digest",
    "types",
]

Function = TypeVar("Function", bound=Callable[..., Any])

DAYS_UNUSED = 30  # caches of other versions are deleted after this time


def source_digest() -> str:
    """Return a digest of the whole source and of the compiler's version.

    Two processes with the same digest get the same results bit for bit.
    """
    package = Path(__file__).parent.parent
    digest = hashlib.sha256(numba.__version__.encode())
    for file in sorted(package.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path:
    """Return the folder of the compiled code.

    Numba's own cache does not notice a change in an imported function, so the folder is named
    after a digest of the whole source.  Folders of other versions are deleted when no process has
    used them for 30 days.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "onepull" / f"kernels-{source_digest()}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        os.utime(folder)  # mark as used
        prune(folder)
    except (OSError, RuntimeError):  # not writable, or there is no home folder
        folder = Path(tempfile.mkdtemp(prefix="onepull-kernels-"))
    return folder


def prune(current: Path) -> None:
    """Delete the sibling folders that were not used for 30 days.

    A folder is renamed before it is deleted, so no process finds a partial one.  A process that
    is still using it compiles again what it has not loaded yet.
    """
    oldest = time.time() - DAYS_UNUSED * 24 * 3600
    # A folder named pruned-* is left over from a process that died while deleting it.
    found = [*current.parent.glob("kernels-*"), *current.parent.glob("pruned-*")]
    for folder in found:
        try:
            if folder == current or folder.is_symlink() or not folder.is_dir():
                continue
            if folder.stat().st_mtime >= oldest:
                continue
            aside = folder.rename(folder.with_name(f"pruned-{uuid4().hex}"))
        except OSError:  # another process was faster, or we may not delete it
            continue
        shutil.rmtree(aside, ignore_errors=True)


def is_warm() -> bool:
    """Whether the cache contains kernels of this version."""
    return any(cache_folder().rglob("*.nbi"))


@contextmanager
def kept() -> Iterator[None]:
    """Cache code that is compiled in this block in our own folder."""
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def compiled(function: Function, *, keep: bool = True) -> Function:
    """Compile a function that runs without the GIL; `keep` caches it on disk."""
    with kept():
        made: Function = numba.njit(function, cache=keep, nogil=True, error_model="numpy")
    if keep:
        _name_files_apart(made)
    return made


def _name_files_apart(made: Any) -> None:
    """Give each compiled signature of a function a unique file name.

    Numba numbers the files of a function's signatures.  Two processes that save two signatures at
    the same time would both use the next number, and one would later run the other's code.  With
    unique names, at worst an entry of the index is lost and that signature is compiled again.
    """
    file = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if file is not None:  # it is None if compilation is disabled
        numbered = file._data_name  # noqa: SLF001 - numba has no public way to name files
        file._data_name = lambda number: f"{uuid4().hex}-{numbered(number)}"  # noqa: SLF001


def inlined(function: Function) -> Function:
    """Compile a small function and inline it into the compiled functions that call it.

    It is inlined as machine code.  Inlined as source, its arrays would become new variables with
    reference counts.
    """
    return numba.njit(function, error_model="numpy", forceinline=True)  # type: ignore[no-any-return]


def reachable(*functions: Callable[..., Any]) -> None:
    """Let compiled functions call these plain functions by name."""
    for function in functions:
        numba.extending.register_jitable(error_model="numpy")(function)
