import gc
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import settings

# Tests share `problems.py`; importlib mode leaves the path alone.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run; and a test that fails when other processes keep the cores busy
# tells nothing.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# Collect garbage rarely: thousands of tests and what they are made of stay to the end.
gc.set_threshold(100_000, 20, 20)


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


@pytest.fixture
def small_disk(tmp_path):
    """Return a folder on a disk of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if (
        not shutil.which("mount")
        or subprocess.run(mount, check=False, capture_output=True).returncode
    ):
        pytest.skip("a small disk can be mounted by root only")
    yield folder
    subprocess.run(["umount", folder], check=True)  # noqa: S607
