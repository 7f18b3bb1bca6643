"""Compile plain functions with numba, and cache the result for each version of the source."""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar
from uuid import uuid4

from onepull.errors import MissingExtra
from onepull.simulation.trusted_files import private_folder, read_sealed, sealed

try:
    import numba
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import caching, ccallback, dispatcher, registry, serialize, types
    from numba.core.compiler import Compiler
    from numba.extending import intrinsic
except ImportError:
    raise MissingExtra.of("simulations and their results need", "simulate") from None

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
    "overload",
    "prune",
    "reachable",
    "source_digest",
    "types",
]

Function = TypeVar("Function", bound=Callable[..., Any])

DAYS_UNUSED = 30  # caches of other versions are deleted after this time
PROBE = 4096  # bytes: less free space is a full disk

_SWAPPED = RLock()

# The form of a function for C contains all of it again, and nobody calls it.  Compiling is a tenth
# quicker without.  Numba's types do not know the option, nor `no_cpython_wrapper`.
_NO_C: Any = {"no_cfunc_wrapper": True}


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
    """Return the folder of the compiled code, which no other user can write to.

    Numba's own cache does not notice a change in an imported function, so the folder is named
    after a digest of the whole source.  Folders of other versions are deleted when no process has
    used them for 30 days.  A folder of ours that others could write to is closed to them, and the
    code in it is compiled again.  If the folder cannot be used, or others could write to one above
    it, a note says why, and a temporary folder of this process replaces it.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = private_folder(base / "onepull" / f"kernels-{source_digest()}", own=2)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE))
        os.utime(folder)  # mark as used
        prune(folder)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        folder = Path(tempfile.mkdtemp(prefix="onepull-kernels-"))
        atexit.register(_remove, folder, os.getpid())
        _note(f"compiled code is not kept after this run: {_reason(error)}")
    return folder


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a fork of the process
        shutil.rmtree(folder, ignore_errors=True)


def _reason(error: Exception) -> str:
    path = getattr(error, "filename", None)
    text = getattr(error, "strerror", None) or str(error)
    return f"{path}: {text}" if path else text


def _note(text: str) -> None:
    """Tell the user, once: worker processes have the same to say as their parent."""
    if parent_process() is None:
        logging.getLogger("onepull").warning("onepull: %s", text)


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


class _Locator(caching.UserProvidedCacheLocator):
    """Finds our folder, also for functions without a file; names there tell versions apart."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file)

    def ensure_cache_path(self) -> None:
        Path(self._cache_path).mkdir(mode=0o700, parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return ""  # the name of the folder tells the version


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 - numba has a list


def _serialized(data: Any) -> bytes:
    """Return a value as numba pickles it."""
    contents: bytes = serialize.dumps(data)  # type: ignore[no-untyped-call]
    return contents


class _Files(caching.IndexDataCacheFile):
    """The files of one function: an index, and a file for each compiled signature.

    Nothing is unpickled unless its checksum is right and it belongs to this user.  Anything else
    counts as missing, so it is compiled again and replaced.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            stamp, names = pickle.loads(read_sealed(self._index_path))  # noqa: S301 - our own
            return dict(names) if stamp == self._source_stamp else {}
        except Exception:  # noqa: BLE001 - unpickling may raise anything
            return {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, _serialized((self._source_stamp, overloads)))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(read_sealed(Path(self._cache_path, name)))  # noqa: S301 - our own

    def _save_data(self, name: str, data: Any) -> None:
        self._write(Path(self._cache_path, name), _serialized(data))

    def _data_name(self, number: int) -> str:
        # Numba numbers the signatures.  Two processes that save two signatures at the same time
        # would both use the next number, and one would later run the other's code.  With unique
        # names, at worst an entry of the index is lost and that signature is compiled again.
        return f"{uuid4().hex}-{self._data_name_pattern.format(number=number)}"

    def _write(self, path: str | Path, contents: bytes) -> None:
        """Write a file atomically; a power failure may damage it, which `read_sealed` finds."""
        target = Path(path)
        part = target.with_name(f"{uuid4().hex}.part")
        try:
            part.write_bytes(sealed(target.name, contents))
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


class _Cache(caching.FunctionCache):
    """Numba's cache of one function, in our folder and with our checks."""

    _impl_class = _Implementation

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)  # type: ignore[no-untyped-call]
        base, stamp = self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, base, stamp)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Written by us and undamaged, but perhaps with another version of a library.
        with suppress(Exception):
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _tell_unkept(error.strerror or str(error))


@cache  # once for all functions
def _tell_unkept(reason: str) -> None:
    _note(f"compiled code cannot be kept in {cache_folder()}: {reason}")


@contextmanager
def kept() -> Iterator[None]:
    """Cache code that is compiled in this block in our own folder, with our checks."""
    settings: Any = numba.config
    users: tuple[Any, ...] = (dispatcher, ccallback)
    with _SWAPPED:
        # Older versions of numba have no setting for locators.
        locators = getattr(settings, "CACHE_LOCATOR_CLASSES", "")
        before = settings.CACHE_DIR, locators, caching.FunctionCache
        settings.CACHE_DIR, settings.CACHE_LOCATOR_CLASSES = str(cache_folder()), ""
        for module in users:
            module.FunctionCache = _Cache
        try:
            yield
        finally:
            settings.CACHE_DIR, settings.CACHE_LOCATOR_CLASSES, cache_class = before
            for module in users:
                module.FunctionCache = cache_class


def compiled(function: Function, *, keep: bool = True, nogil: bool = True) -> Function:
    """Compile a function; `keep` caches it on disk, and `nogil` lets other threads run."""
    with kept():
        made: Function = numba.njit(function, cache=keep, nogil=nogil, error_model="numpy", **_NO_C)
    return made


class _InnerCompiler(Compiler):
    """Compiles a function that only compiled functions call.

    Its code becomes a part of each of them, and is optimised there once more.  Kernels compile in
    a twelfth less time if it is not optimised before.  Only for functions that are inlined in any
    case: the compiler inlines others by what is left of them when they are optimised.
    """

    def define_pipelines(self) -> list[Any]:
        """Return the usual steps, and make the function's library, as they would."""
        state: Any = self.state
        library = state.library = state.targetctx.codegen().create_library(
            state.func_id.func_qualname
        )
        library.enable_object_caching()
        # In a version of the compiler without a step of this name, the code is optimised twice.
        library._optimize_final_module = lambda: None  # noqa: SLF001 - there is no option
        steps: list[Any] = super().define_pipelines()  # type: ignore[no-untyped-call]
        return steps


class _Inlined(registry.CPUDispatcher):
    """A function without a form for CPython, where a call would end the process."""

    def __call__(self, *_: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is for compiled code; call its `py_func`")


@cache  # what calls it would be compiled again for another compiled form of it
def inlined(function: Any, *, from_python: bool = False) -> Any:
    """Compile a small function and inline it into the compiled functions that call it.

    It is inlined as machine code.  Inlined as source, its arrays would become new variables with
    reference counts.  A form for CPython would contain it once more, so it has one only if it is
    called `from_python`, too.
    """
    options: Any = {"forceinline": True, "no_cpython_wrapper": not from_python, **_NO_C}
    if not from_python:
        options["pipeline_class"] = _InnerCompiler
    made: Any = numba.njit(function, error_model="numpy", **options)
    if not from_python and isinstance(made, registry.CPUDispatcher):  # else nothing is compiled
        made.__class__ = _Inlined
    return made


def reachable(*functions: Callable[..., Any], **options: Any) -> None:
    """Let compiled functions call these plain functions by name."""
    for function in functions:
        numba.extending.register_jitable(error_model="numpy", **_NO_C, **options)(function)


def overload(
    function: Callable[..., Any], *, strict: bool = True, **options: Any
) -> Callable[[Function], Function]:
    """Decorate a function that returns the compiled form of `function` for some types.

    If it is `strict`, both have the same parameters.
    """
    jit_options: Any = {**_NO_C, **options}  # numba's types do not know all of them
    decorate: Callable[[Function], Function] = numba.extending.overload(
        function, jit_options=jit_options, strict=strict
    )
    return decorate
