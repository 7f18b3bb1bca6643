"""The files for production name what exists: settings, metrics, commands."""

from __future__ import annotations

import configparser
import json
import re
from pathlib import Path

import yaml
from serving import served, write_problem

from onepull.service import ServiceSettings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "production"
PAGE = (ROOT / "docs" / "how-to" / "run-in-production.md").read_text()
METRIC = re.compile(r"onepull_[a-z_]+")


def test_alerts_and_boards_use_metrics_that_exist(tmp_path):
    with served(write_problem(tmp_path)) as client:
        known = set(re.findall(r"^# TYPE (\S+)", client.get("/metrics").text, re.MULTILINE))
    known |= {f"{name}_bucket" for name in known}
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    board = json.loads((FOLDER / "grafana.json").read_text())
    asked = [rule["expr"] for rule in rules]
    asked += [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) > 15
    for expression in asked:
        assert METRIC.findall(expression)
        assert set(METRIC.findall(expression)) <= known, expression
    described = set(METRIC.findall(PAGE.partition("## Metrics")[2].partition("## Logs")[0]))
    assert described - {"onepull_"} <= known


def test_every_setting_is_described():
    rows = re.findall(r"^\| `(\w+)` \| `ONEPULL_(\w+)` \| (.+?) \|", PAGE, re.MULTILINE)
    assert [name.upper() for name, _, _ in rows] == [variable for _, variable, _ in rows]
    assert {name for name, _, _ in rows} == set(ServiceSettings.__struct_fields__)
    defaults = {
        name: getattr(ServiceSettings(), name) for name in ServiceSettings.__struct_fields__
    }
    for name, _, told in rows:
        value = defaults[name]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            assert float(told) == value, name


def test_units_and_images_set_what_exists():
    unit = configparser.RawConfigParser(strict=False)
    unit.read(FOLDER / "onepull.service")
    assert unit["Service"]["killsignal"] == "SIGTERM"
    texts = [(FOLDER / name).read_text() for name in ("onepull.service", "Containerfile")]
    for text in texts:
        variables = re.findall(r"ONEPULL_([A-Z_]+)=", text)
        assert variables
        assert {name.lower() for name in variables} <= set(ServiceSettings.__struct_fields__)
