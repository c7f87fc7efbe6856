# The two commands of the README, and what their makers need. Each sets up all it needs on a machine with only Python and make.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: run test bench lint format clean
.DELETE_ON_ERROR:

run: $(VENV)/installed
	$(BIN)/anka-flow run specs/resign.yaml

test: $(VENV)/installed-test
	$(BIN)/python -m pytest

bench: $(VENV)/installed-test
	$(BIN)/python -m tests.bench

lint: $(VENV)/installed-test
	$(BIN)/ruff format --check anka_flow operators tests
	$(BIN)/ruff check anka_flow operators tests
	$(BIN)/mypy

format: $(VENV)/installed-test
	$(BIN)/ruff format anka_flow operators tests
	$(BIN)/ruff check --fix anka_flow operators tests

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/installed-test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $(VENV)/installed $@

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
