"""Write the lists of public names from the policies' own files, or check that they are up to date.

Type checkers need names spelt out, so two files have a part that is made by this script:
src/onepull/policies/__init__.py and src/onepull/__init__.py.  `make format` writes it, and
`make check` runs this with --check.
"""

import subprocess
import sys
from pathlib import Path

from onepull.policies.registry import registered

SOURCE = Path(__file__).parent.parent / "src" / "onepull"
BEGIN, END = "# Made by tools/public_names.py", "# To here."
# What the package exports beside its policies, by the module it is taken from.
TOOLS = {
    "onepull.policies.choice": ["Choice"],
    "onepull.policies.controls": ["Controls", "Share"],
    "onepull.policies.request": ["Request"],
    "onepull.policies.explanation": ["ArmExplanation", "Explanation"],
    "onepull.policies.policy": ["Policy"],
    "onepull.policies.fleet.updates": ["Absorbed"],
    "onepull.policies.loaded": ["Loaded"],
    "onepull.policies.pull": ["Pull"],
    "onepull.policies.recommendation": ["recommended"],
    "onepull.policies.rule_policy": ["MeanPolicy", "TurnPolicy"],
    "onepull.policies.sharing.by_name": ["shared"],
    "onepull.policies.sharing.knowledge": ["Knowledge"],
    "onepull.policies.stats": ["ArmStats", "Stats"],
    "onepull.policies.states.state_policy": ["StatePolicy"],
    "onepull.policies.traits": ["Traits"],
}
PARTS = ("ArmExplanation", "ArmStats")  # of values that the package exports
OTHERS = {
    "client": ["AsyncClient", "Client"],
    "control": [
        "Backlog", "Battery", "BatteryPlan", "BufferEnvironment", "DriftPlusPenalty", "Myopic",
    ],
    "distributions": ["Discrete"],
    "environment": ["Environment"],
    "errors": [
        "ClusterError", "ConflictError", "ContextError", "DeclarationError", "FormulaError",
        "InputError", "MergeError", "MissingExtra", "NotFound", "OnepullError", "ParameterError",
        "ProblemError", "RewardError", "SaveFileError", "ServiceError", "StateError", "StoreError",
        "UnknownArm",
    ],
    "experiments": ["Experiment", "ResultFolder"],
    "factor": ["Factorisation", "Grid", "Histogram", "LowRank", "Sketch", "ContextTable"],
    "formula": ["Formula"],
    "index": ["MeanRule", "StateRule", "TurnRule"],
    "payoff": ["Fact", "Payoff", "Reward"],
    "problem": ["Problem"],
    "router": ["BatchReceipt", "Decision", "Observation", "Receipt", "Router", "RouterStats"],
    "simulation": ["Result", "compile_decisions", "simulate", "simulate_buffer"],
    "spaces": ["Box", "Finite", "Interval"],
    "statistics": ["ArmStatistics"],
    "store": ["MemoryStore", "PostgresStore", "SQLiteStore", "Store", "open_store"],
}  # fmt: skip


def exported_policies() -> dict[str, list[str]]:
    """Return what `onepull.policies` exports, by module."""
    found = {module: list(names) for module, names in TOOLS.items()}
    for name, kind in registered().items():
        found.setdefault(kind.__module__, []).append(name)
    return found


def policies_part() -> str:
    """Return the part of `onepull.policies` that is made."""
    homes = exported_policies()
    lines = [f"from {module} import {', '.join(names)}" for module, names in homes.items()]
    names = sorted(name for names in homes.values() for name in names)
    return "\n".join([*lines, "", f"__all__ = {names}"])


def package_part() -> str:
    """Return the part of `onepull` that is made."""
    names = [n for module, names in exported_policies().items() for n in names]
    homes = {**OTHERS, "policies": [n for n in names if n not in PARTS]}
    lines = [f"    from onepull.{home} import {', '.join(names)}" for home, names in homes.items()]
    all_names = sorted(name for names in homes.values() for name in names)
    imports = "\n".join(["if TYPE_CHECKING:", *lines])
    return f"{imports}\n\n_HOMES = {homes}\n\n__all__ = {all_names}"


def with_part(file: Path, part: str) -> str:
    """Return a file's text with the part between its marks made anew."""
    before, rest = file.read_text().split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    text = f"{before}{BEGIN}\n{part}\n{END}{after}"
    for tool in (["check", "--fix", "--select", "I,RUF022"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *tool, "--quiet", "--stdin-filename", str(file), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> int:
    """Write both files, or say which is out of date."""
    stale = []
    made = {"policies/__init__.py": policies_part(), "__init__.py": package_part()}
    for name, part in made.items():
        file = SOURCE / name
        text = with_part(file, part)
        if text != file.read_text():
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(text)
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `make format`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
