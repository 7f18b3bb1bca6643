"""The result folder of an experiment with policies."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import numpy as np

from onepull.experiments.experiment import Experiment
from onepull.experiments.folder import Folder, named_files
from onepull.simulation.replicate import run
from onepull.simulation.result import Block, Result


class ResultFolder(Folder[Experiment]):
    """The folder of an experiment with policies: its file and its blocks of replications.

    >>> import tempfile
    >>> from onepull.simulation.executors import open_executor
    >>> experiment = Experiment.from_toml('''
    ... application = "channel-selection"
    ... horizon = 100
    ... replications = 8
    ... policies = [{policy = "DCB"}]
    ... ''')
    >>> with tempfile.TemporaryDirectory() as place, open_executor("threads") as executor:
    ...     folder = ResultFolder(place, experiment)
    ...     folder.prepare()
    ...     result = folder.run(executor)
    ...     result.replications, folder.missing()
    (8, [])
    """

    _kind = Experiment

    def blocks(self) -> Iterator[Block]:
        """Yield the finished blocks; a damaged block counts as missing."""
        yield from self._sorted()[0]

    def _sorted(self) -> tuple[list[Block], list[tuple[int, int, Path]]]:
        """Return the finished blocks, and the damaged files with the replications they name."""
        found: list[Block] = []
        damaged = []
        for start, stop, file in self._files():
            if found and start < found[-1].stop:
                continue
            block = self._read(file)
            if block is None or (block.start, block.stop) != (start, stop):
                damaged.append((start, stop, file))
            else:
                found.append(block)
        return found, damaged

    def _read(self, file: Path) -> Block | None:
        try:
            with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as saved:
                start, stop = int(saved["start"]), int(saved["stop"])
                block = Block(start, stop, saved["regrets"], saved["pulls"], saved["best_pulls"])
        except Exception:  # noqa: BLE001 - a damaged file can raise many errors
            return None
        return block if self._fits(block) else None

    def _fits(self, block: Block) -> bool:
        """Whether a block can be one of this experiment: its shapes, regrets and counts."""
        simulation, runs = self.experiment.simulation, block.stop - block.start
        policies, marks = len(simulation.policies), len(simulation.checkpoints)
        shape = (policies, marks, len(simulation.environment.problem.arms))
        regrets, pulls, best = block.regrets, block.pulls, block.best_pulls
        if regrets.shape != (policies, runs, marks) or regrets.dtype != np.float64:
            return False
        if not pulls.shape == best.shape == shape or not pulls.dtype == best.dtype == np.int64:
            return False
        if not np.isfinite(regrets).all() or (best < 0).any() or (best > pulls).any():
            return False
        # Every trial pulls one arm, unless the budget is spent.
        made, most = pulls.sum(axis=2), runs * simulation.checkpoints
        if simulation.environment.budget is not None:
            return bool((made <= most).all())
        return bool((made == most).all())

    def keep(self, block: Block) -> None:
        """Write a block atomically."""
        memory = io.BytesIO()
        np.savez_compressed(
            memory,
            start=block.start,
            stop=block.stop,
            regrets=block.regrets,
            pulls=block.pulls,
            best_pulls=block.best_pulls,
        )
        self.write(f"blocks/{block.start:07}-{block.stop:07}.npz", memory.getvalue())

    def missing(self) -> list[tuple[int, int]]:
        """Return the ranges of replications that are missing."""
        return _gaps(self.blocks(), 0, self.experiment.replications)

    def run(self, executor: Executor, progress: Callable[[int, int], None] | None = None) -> Result:
        """Run the missing replications and return the result; each block is saved when it ends.

        The result has all finished replications, even if the experiment now has fewer.
        """
        if (begun := self._begun()) is not None:
            self._check_version(begun)
        found, damaged = self._sorted()
        self.repaired = named_files([file for *_, file in damaged])
        total = self.experiment.replications
        missing = _gaps(found, 0, total)
        before = total - sum(stop - start for start, stop in missing)

        def report(done: int, _: int) -> None:
            if progress is not None:
                progress(before + done, total)

        report(0, total)
        for block in run(self.experiment.simulation, missing, executor, report):
            self.keep(block)
        return self.result()

    def result(self) -> Result:
        """Return the result of the finished blocks."""
        found, damaged = self._sorted()
        gaps = [(_gaps(found, start, stop), file) for start, stop, file in damaged]
        lost = [(sum(stop - start for start, stop in gap), file) for gap, file in gaps if gap]
        if not found:
            self._refuse([file for _, file in lost])
        self._remark(sum(block.stop - block.start for block in found), lost)
        result = self.experiment.simulation.result(found)
        return replace(result, notes=[*self.remarks, *result.notes])


def _gaps(blocks: Iterable[Block], start: int, stop: int) -> list[tuple[int, int]]:
    """Return the ranges between `start` and `stop` that no block covers."""
    covered, gaps = start, []
    for block in blocks:
        gaps.append((covered, min(block.start, stop)))
        covered = max(covered, block.stop)
    gaps.append((covered, stop))
    return [(first, last) for first, last in gaps if first < last]
