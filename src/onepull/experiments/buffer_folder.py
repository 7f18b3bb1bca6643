"""Result folders of experiments with a buffer, one file for each finished replication."""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from onepull.arrays import Array
from onepull.experiments.buffer_experiment import BufferExperiment
from onepull.experiments.folder import Folder, named_files
from onepull.simulation.buffered import MEASURES, BufferResult, replicated


class BufferFolder(Folder[BufferExperiment]):
    """The folder of an experiment with a buffer: its file and its replications.

    >>> import tempfile
    >>> from onepull.simulation.executors import open_executor
    >>> experiment = BufferExperiment.from_toml('''
    ... application = "metered-backlog"
    ... horizon = 100
    ... replications = 4
    ... controllers = [{controller = "Myopic", policy = "DCB"}]
    ... ''')
    >>> with tempfile.TemporaryDirectory() as place, open_executor("serial") as executor:
    ...     folder = BufferFolder(place, experiment)
    ...     folder.prepare()
    ...     result = folder.run(executor)
    ...     result.replications, folder.missing()
    (4, [])
    """

    _kind = BufferExperiment

    def missing(self) -> list[int]:
        """Return the numbers of the missing replications."""
        done, _ = self._sorted()
        return [number for number in range(self.experiment.replications) if number not in done]

    def run(
        self, executor: Executor, progress: Callable[[int, int], None] | None = None
    ) -> BufferResult:
        """Run the missing replications and return the result; each is saved when it ends."""
        if (begun := self._begun()) is not None:
            self._check_version(begun)
        done, damaged = self._sorted()
        self.repaired = named_files(damaged)
        total = self.experiment.replications
        missing = [number for number in range(total) if number not in done]
        before = total - len(missing)
        if progress is not None:
            progress(before, total)
        found = replicated(self.experiment.simulation, missing, executor)
        for count, (number, measured) in enumerate(found, start=before + 1):
            self._keep(number, measured)
            if progress is not None:
                progress(count, total)
        return self.result()

    def result(self) -> BufferResult:
        """Return the result of the finished replications, in order."""
        done, damaged = self._sorted()
        if not done:
            self._refuse(damaged)
        self._remark(len(done), [(1, file) for file in damaged])
        measured = np.stack([done[number] for number in sorted(done)], axis=2)
        return self.experiment.simulation.result(measured)

    def _keep(self, number: int, measured: Array) -> None:
        memory = io.BytesIO()
        np.savez_compressed(memory, measured=measured)
        self.write(f"blocks/{number:07}-{number + 1:07}.npz", memory.getvalue())

    def _sorted(self) -> tuple[dict[int, Array], list[Path]]:
        """Return the measures of the finished replications by number, and the damaged files."""
        done: dict[int, Array] = {}
        damaged = []
        for start, stop, file in self._files():
            measured = self._measures(file) if stop == start + 1 else None
            if measured is None:
                damaged.append(file)
            else:
                done[start] = measured
        return done, damaged

    def _measures(self, file: Path) -> Array | None:
        """Return the measures in a file, None if it is damaged."""
        try:
            with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as saved:
                measured: Array = saved["measured"]
        except Exception:  # noqa: BLE001 - a damaged file can raise many errors
            return None
        shape = (len(MEASURES), len(self.experiment.simulation.controllers))
        fits = measured.shape == shape and measured.dtype == np.float64
        return measured if fits and np.isfinite(measured).all() else None
