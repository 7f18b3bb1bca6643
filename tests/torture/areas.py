"""All areas, in the order in which they run."""

from torture import arms, calls, files, formulas, kills, results, saves, scales
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
        arms.OPERATED,
        files.AREA,
        saves.VALUES,
        saves.BYTES,
        arms.FLEETS,
        results.AREA,
        kills.SAVES,
        kills.RUNS,
        kills.LOGS,
        kills.SERVICES,
    )
}
