"""All areas, in the order in which they run."""

from torture import files, kills, scales
from torture.area import Area

AREAS: dict[str, Area] = {
    area.name: area
    for area in (
        scales.AREA,
        files.AREA,
        kills.SAVES,
        kills.RUNS,
    )
}
