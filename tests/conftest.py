import gc
import os
import sys
import zlib
from contextlib import suppress
from pathlib import Path

from hypothesis import settings

# Tests share `problems.py`; importlib mode leaves the path alone.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run; and a test that fails when other processes keep the cores busy
# tells nothing.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# Collect garbage rarely: thousands of tests and what they are made of stay to the end.
gc.set_threshold(100_000, 20, 20)


def pytest_sessionstart(session):
    """Rewrite a part of the tests for pytest, while each of the other processes does another.

    In a new clone each process would rewrite all of them, since all collect at the same time.
    What is done is found on disk.  Nothing is lost if there is no such function in another pytest.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if not worker or sys.dont_write_bytecode:
        return
    with suppress(ImportError):
        from _pytest.assertion.rewrite import (  # noqa: PLC0415 - there may be none
            PYC_TAIL,
            _read_pyc,
            _rewrite_test,
            _write_pyc,
            assertstate_key,
        )

        state = session.config.stash[assertstate_key]
        files = sorted(Path(__file__).parent.rglob("test_*.py"))
        for file in files[int(worker.removeprefix("gw")) :: count]:
            folder = file.parent / "__pycache__"
            folder.mkdir(exist_ok=True)
            kept = folder / (file.stem + PYC_TAIL)
            if _read_pyc(file, kept) is None:
                digest, code = _rewrite_test(file, session.config)
                _write_pyc(state, code, digest, kept)


def pytest_collection_finish(session):
    """Leave the tests out of every collection of garbage, and share kernels with the others."""
    gc.freeze()
    if "PYTEST_XDIST_WORKER" in os.environ and "numba" in sys.modules:
        _compile_in_turns(session.config.cache.mkdir("compiling") / "lock")


def _compile_in_turns(file):
    """Let one process of the tests compile a kernel, while the others wait for it or do others."""
    try:
        import fcntl  # noqa: PLC0415 - there is none on Windows, where all compile
    except ImportError:
        return
    from numba.core import caching, dispatcher  # noqa: PLC0415 - few tests compile
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415 - the same

    held = file.open("wb")  # to the end: closing a file gives up its locks
    plain = dispatcher.Dispatcher.compile

    def compile_in_turn(self, sig):
        if isinstance(self._cache, caching.NullCache):
            return plain(self, sig)
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}{sig}"
        place = zlib.crc32(name.encode())
        with global_compiler_lock:  # first, as in `plain`: threads must not wait for each other
            fcntl.lockf(held, fcntl.LOCK_EX, 1, place)
            try:
                return plain(self, sig)
            finally:
                fcntl.lockf(held, fcntl.LOCK_UN, 1, place)

    dispatcher.Dispatcher.compile = compile_in_turn  # type: ignore[method-assign]  # in tests only
