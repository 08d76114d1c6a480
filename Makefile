# Two commands do everything on a machine that has Python 3.11 or newer and make:
#   make demo    the main job, in a scratch folder, without a network or a key
#   make test    every check that a change must pass
# Both set up a virtual environment of their own in .venv and touch nothing else.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= auto
PYTEST_MORE ?=
# What the dashboard's page is made from: where it changed, an installation builds the page anew (hatch_build.py).
WEB := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/dist/*')

.PHONY: help demo test lint types floors check-web check-tests web chromium interop bench pictures clean

help:
	@sed -n '1,4p' Makefile

demo: $(VENV)/.run
	@$(BIN)/redline demo

test: lint types floors check-web check-tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

floors: $(VENV)/.dev
	$(BIN)/lint-imports
	$(BIN)/deptry src

# The page's own checks: types, lint, unit tests, and how large it may be.
check-web: $(VENV)/.dev
	$(BIN)/python hatch_build.py npm run check

check-tests: web chromium
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup $(PYTEST_MORE)

# The dashboard's page, built anew if its sources changed; the Node for that comes from PyPI.
web: $(VENV)/.dev
	@$(BIN)/python hatch_build.py

# Finds the Chromium that the browser tests drive, or installs one where it may.
chromium: $(VENV)/.dev
	@$(BIN)/python tests/browser/chromium.py

# Every real agent, installed by name from npm and PyPI into a cache of its own; needs Node 20 or newer.
interop: $(VENV)/.dev
	$(BIN)/pytest -m interop tests/interop

bench: web chromium
	$(BIN)/python benchmarks/all.py

pictures: web chromium
	$(BIN)/python docs/pictures/take.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf web/node_modules web/dist src/redline/surfaces/dashboard/static tests/browser/pictures

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Redline needs Python 3.11 or newer, and none was found. Install one, or name it: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Setting up a virtual environment in $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "This Python cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.run: pyproject.toml $(WEB) | $(VENV)/bin/python
	@echo "Installing Redline and what it stands on, and building its page (once, a minute or so)"
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	@echo "Installing Redline with its checks (once, a minute or so)"
	@$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --group dev --editable ".[chat]"
	@touch $@ $(VENV)/.run
