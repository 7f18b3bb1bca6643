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
    """Collect garbage rarely, and leave thousands of tests, which stay to the end, out of it."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
