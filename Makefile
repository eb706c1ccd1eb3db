# Two commands: `make demo` runs the main job, `make test` checks everything.
# Both set up .venv first and need nothing but Python 3.11 or newer, pip and make.
#   make demo PYTHON=python3.13    another interpreter
#   make test WORKERS=4            more test processes

PYTHON ?= python3
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# pip compiles what it installs, but not what it installs as editable.
COMPILE := $(BIN)/python -m compileall -q $(wildcard *.py) compiler nn runtime tracer

.PHONY: demo test lint check format clean help
.DELETE_ON_ERROR:

help:
	@echo 'make demo    set up .venv and train a network on the MNIST images'
	@echo 'make test    set up .venv, lint, check types, run all tests'
	@echo 'make lint    ruff and mypy only'
	@echo 'make format  rewrite the sources in the one format'
	@echo 'make clean   remove .venv, caches and builds'

demo: $(VENV)/demo-installed
	$(BIN)/python -m tapeless demo

# Tests of speed want the machine to themselves, so they run after the others.
test: lint
	$(BIN)/python -m pytest tests -n $(WORKERS) --dist worksteal -m 'not timing and not sweep'
	$(BIN)/python -m pytest tests -m timing

lint check: $(VENV)/test-installed .typing/tapeless
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/test-installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/demo-installed: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[draw,train]'
	$(COMPILE)
	@touch $@

$(VENV)/test-installed: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --editable '.[native,draw,train,test,dev]'
	$(COMPILE)
	@touch $@ $(VENV)/demo-installed

# Some systems ship Python without ensurepip: there the system's own pip fills the environment.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tapeless needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": name one with  make $(MAKECMDGOALS) PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV) || { $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $@ install --quiet pip; }

# Type checkers see the root folder under its import name through this link.
.typing/tapeless:
	mkdir -p .typing
	ln -sfn .. $@

clean:
	rm -rf $(VENV) .typing build dist *.egg-info .mypy_cache tests/.pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
