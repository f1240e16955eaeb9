# Needs python3 (3.11 or later, with venv), pip and make; everything else goes into .venv.
# `make PYTHON=python3.12 test` makes .venv with another interpreter.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
# Each stamp is as old as what it says was installed.
READY     := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev
# The tests start hundreds of processes; each would compile the project again where Python may not keep what it compiled.
export PYTHONDONTWRITEBYTECODE :=
INSTALL_PROJECT := $(PIP) install --quiet --no-deps --no-build-isolation --editable .

.DEFAULT_GOAL := help
.PHONY: help demo test seeds agents soak bench check formatted lint types imports format lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## show a handoff between two agents and back, without any account
	@$(BIN)/tieline demo

test: $(READY_DEV) ## run the tests; COVERAGE=yes measures bridge/ and policy/, ARGS=… goes to pytest
	$(BIN)/python -m pytest -n auto --dist worksteal $(if $(COVERAGE),--cov) $(ARGS)

seeds: $(READY_DEV) ## simulate 300 crowds in bad weather
	$(BIN)/python -m tests.simulation --seeds 300 $(ARGS)

agents: $(READY_DEV) ## install real agents (3 GB, needs npm) and drive them against providers on loopback; ARGS=…
	$(BIN)/python -m tests.agents.installed
	REAL_AGENTS=yes $(BIN)/python -m pytest -n 2 --dist loadfile tests/agents $(ARGS)

soak: $(READY_DEV) ## kills, power cuts, failing stores and simulated ones in numbers; ARGS="kills --minutes 5" runs a part alone
	$(BIN)/python -m tests.soak $(ARGS)

bench: $(READY_DEV) ## measure the store beside its disk, into build/bench; ARGS=--quick takes seconds
	$(BIN)/python -m tests.bench $(ARGS)

check: formatted lint types imports seeds ## run everything that must hold before a change is merged
	@$(MAKE) --no-print-directory test COVERAGE=yes

formatted: $(READY_DEV)
	$(BIN)/ruff format --check .

lint: $(READY_DEV)
	$(BIN)/ruff check .

types: $(READY_DEV)
	$(BIN)/mypy

imports: $(READY_DEV)
	$(BIN)/lint-imports --no-logo

format: $(READY_DEV) ## format the code, and correct what can be corrected
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## write both lock files anew from pyproject.toml
	PYTHON=$(PYTHON) sh deploy/lock

clean: ## remove .venv and all that tools have left
	rm -rf $(VENV) build dist *.egg-info .coverage .coverage.* .hypothesis .import_linter_cache
	rm -rf .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'Tieline needs Python 3.11 or later: name one, as in `make PYTHON=python3.12 ...`.' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo 'This Python cannot make virtual environments: on Debian or Ubuntu, install python3-venv.' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(READY): deploy/requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --requirement deploy/requirements.lock
	$(INSTALL_PROJECT)
	@touch $@

$(READY_DEV): deploy/requirements-dev.lock pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --requirement deploy/requirements-dev.lock
	$(INSTALL_PROJECT)
	@touch $(READY) $@
