# Every target makes its own virtual environment on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := $(VENV)/.peers

.DEFAULT_GOAL := demo
.PHONY: demo test check format benchmark clean

## A live demonstration: choosing a channel for every request.
demo: $(READY)
	@$(BIN)/onepull demo

## Every test: behaviour, layers, documentation.
test: $(READY)
	$(BIN)/python -m pytest

## Formatting, lint, types and layers.
check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## Microseconds per decision beside a plain loop and other packages.
benchmark: $(PEERS)
	$(BIN)/python benchmarks/step.py

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --group peers
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
