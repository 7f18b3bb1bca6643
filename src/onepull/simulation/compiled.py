"""Compiling plain functions, once for each version of their source."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from onepull.errors import MissingExtra

try:
    import numba
except ImportError:
    raise MissingExtra(
        "the simulator needs the 'simulate' extra: pip install 'onepull[simulate]'"
    ) from None

Function = TypeVar("Function", bound=Callable[..., Any])


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
    file, so the folder is named after the whole source.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "onepull" / f"kernels-{source_digest()}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # nowhere to write, or no home
        folder = Path(tempfile.mkdtemp(prefix="onepull-kernels-"))
    return folder


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


def compiled(function: Function) -> Function:
    """Compile a function that runs without the interpreter's lock and is kept on disk."""
    with kept():
        return numba.njit(function, cache=True, nogil=True, error_model="numpy")  # type: ignore[no-any-return]


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
