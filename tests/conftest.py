import gc
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Tests share `problems.py`; importlib mode leaves the path alone.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run; and a test that fails when other processes keep the cores busy
# tells nothing.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


def pytest_collection_finish():
    """Collect garbage rarely, and leave thousands of tests, which stay to the end, out of it."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


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
