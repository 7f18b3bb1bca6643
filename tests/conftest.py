import gc
import sys
from pathlib import Path

from hypothesis import settings

# Tests share `problems.py`; importlib mode leaves the path alone.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run; and a test that fails when other processes keep the cores busy
# tells nothing.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


def pytest_collection_finish():
    """Leave thousands of tests, which stay to the end, out of every collection of garbage."""
    gc.freeze()
