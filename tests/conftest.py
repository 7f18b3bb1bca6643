import sys
from pathlib import Path

# Tests share `problems.py`; importlib mode leaves the path alone.
sys.path.insert(0, str(Path(__file__).parent))
