PYTHON ?= python3
PIP_ARGS ?=
BIN := .venv/bin
PARALLEL := --numprocesses logical --maxprocesses 4 --dist worksteal

.PHONY: help demo test check format clean

help:
	@echo "make demo    data, training, rollout, scores and a GIF in a few minutes"
	@echo "make test    the test suite"
	@echo "make check   lint, types and the slow proofs"

demo: .venv/ready
	$(BIN)/videopred demo --overwrite

test: .venv/ready
	$(BIN)/python -m pytest $(PARALLEL)

check: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32
	$(BIN)/mypy --platform darwin
	$(BIN)/python -m pytest -m slow -rs $(PARALLEL)

format: .venv/ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache

# One environment; the lint and type tools come only when they are asked for.
.venv/ready: pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(None if sys.version_info >= (3, 11) else \
		'PYTHON must be 3.11 or newer, got ' + sys.version.split()[0] + '; say e.g. make PYTHON=python3.12')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) --editable '.[test]'
	touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) --editable '.[test,dev]'
	touch $@
