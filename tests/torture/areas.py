"""All areas, in the order in which they run."""

from torture import calls, files, formulas, kills, results, saves, scales
from torture.area import Area

AREAS: dict[str, Area] = {
    area.name: area
    for area in (
        formulas.TEXTS,
        formulas.RANGES,
        formulas.COMPILED,
        calls.CONSTRUCTIONS,
        calls.METHODS,
        scales.AREA,
        files.AREA,
        saves.VALUES,
        saves.BYTES,
        results.AREA,
        kills.SAVES,
        kills.RUNS,
        kills.LOGS,
    )
}
