# Every target makes its own virtual environment on first use.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
SITE   := $(VENV)/.site
PEERS  := $(VENV)/.peers

# Tests start hundreds of processes.  Where the environment forbids to keep bytecode, each would
# compile every module again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := reproduce
.PHONY: reproduce quick test torture check docs format benchmark clean

## The paper's experiments, run again: tables here, figures and a report in reproduction/.
reproduce: $(READY)
	@$(BIN)/onepull reproduce

## The same with fewer replications, in seconds.
quick: $(READY)
	@$(BIN)/onepull reproduce --quick

## Every test: behaviour, layers, documentation.  One process more than there are cores, since many
## tests wait for processes and the disk, but four at most, since each takes up to two gigabytes.
## Each process starts with its own part of the tests, file by file, and takes over tests from the
## others when it is done; matrix products leave the other cores alone.
PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(min(os.cpu_count() + 1, 4))')
test: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal

## Random cases of every kind, for MINUTES; goes on where the last run stopped.  AREAS limits it to
## some areas, and WRITE names the page that gets the tables.
MINUTES ?= 10
torture: $(READY)
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/torture $(AREAS) --minutes $(MINUTES) \
		$(if $(WRITE),--write $(WRITE))

## Formatting, lint, types, layers, lists of names and policies and the documentation site.
check: $(READY) docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/public_names.py --check

## The documentation site in docs/_build/html.  Warnings are errors; nothing is fetched.  Every page
## is read anew, since Sphinx does not repeat the warnings of pages that it has read before.
docs: $(SITE)
	$(BIN)/python -m sphinx --builder html --fresh-env --nitpicky --fail-on-warning --keep-going \
		--quiet docs docs/_build/html

format: $(READY)
	$(BIN)/python tools/public_names.py
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## A decision and a simulated trial, beside plain loops and other packages.
benchmark: $(PEERS)
	$(BIN)/python benchmarks/step.py
	$(BIN)/python benchmarks/default_cost.py --rounds 20
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/baselines.py

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@# Most modules are never loaded; a process compiles what it loads, and keeps it.
	$(BIN)/python -m pip install --quiet --no-compile \
		--editable '.[simulate,distributed,serve,client]' --group dev
	@$(BIN)/python -m compileall -q src  # once, and not in each process of the tests
	@touch $@

$(SITE): $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --group peers
	@touch $@

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache \
		.torture
