"""Write the lists of public names and policies from the policies' own files, or check them.

Type checkers need names spelt out, and readers of the documentation need tables.  So some files
have a part between two marks that is made by this script.  `make format` writes it, and
`make check` runs this with --check.
"""

import subprocess
import sys
from pathlib import Path

from policy_lists import (  # type: ignore[import-not-found]  # found beside a script
    exchanging_observations,
    ignoring_pulls_in_flight,
    parameters_table,
)

from onepull.policies.registry import registered

ROOT = Path(__file__).parent.parent
BEGIN, END = "# Made by tools/public_names.py", "# To here."
PAGE_BEGIN, PAGE_END = f"<!-- {BEGIN[2:]} -->", f"<!-- {END[2:]} -->"
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
    is_page = file.suffix == ".md"
    begin, end = (PAGE_BEGIN, PAGE_END) if is_page else (BEGIN, END)
    before, rest = file.read_text(encoding="utf-8").split(begin, 1)
    after = rest.split(end, 1)[1]
    text = f"{before}{begin}\n{part}\n{end}{after}"
    return text if is_page else formatted(file, text)


def formatted(file: Path, text: str) -> str:
    """Return the text of a Python file as ruff writes it."""
    for tool in (["check", "--fix", "--select", "I,RUF022"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *tool, "--quiet", "--stdin-filename", str(file), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> int:
    """Write all files, or say which are out of date."""
    stale = []
    made = {
        "src/onepull/policies/__init__.py": policies_part(),
        "src/onepull/__init__.py": package_part(),
        "docs/experiments.md": parameters_table(),
        "docs/how-to/run-a-fleet.md": exchanging_observations(),
        "docs/delay.md": ignoring_pulls_in_flight(),
    }
    for name, part in made.items():
        file = ROOT / name
        text = with_part(file, part)
        if text != file.read_text(encoding="utf-8"):
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `make format`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
