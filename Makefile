# `make` prints what there is. Every target does its own set-up.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help:  ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY)  ## make the virtual environment with all that the rest needs

$(BIN)/python:
	@for python in python3 python3.13 python3.12 python3.11; do \
	  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	  python=; \
	done; \
	test -n "$$python" || { echo 'Koken needs Python 3.11 or newer on the PATH.' >&2; exit 1; }; \
	$$python -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "$$python cannot make a virtual environment (on Debian: apt install python3-venv)." >&2; \
	  exit 1; }

# Each stamp stands for a set of packages; the demo needs few, so that it begins soon.
$(READY): EXTRAS := dev,examples
$(VENV)/.ready-demo: EXTRAS := embedded,web,examples
$(VENV)/.ready-bench: EXTRAS := dev,bench

$(READY) $(VENV)/.ready-demo $(VENV)/.ready-bench: pyproject.toml Makefile | $(BIN)/python
	@echo 'Installing packages into $(VENV) ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]'
	@touch $@

.PHONY: check
check: format-check lint types imports  ## all checks that run no program: format, lint, types, floors

.PHONY: format
format: $(READY)  ## put the code into its format and mend what can be mended
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

.PHONY: format-check
format-check: $(READY)
	$(BIN)/ruff format --check .

.PHONY: lint
lint: $(READY)
	$(BIN)/ruff check .

.PHONY: types
types: $(READY)
	$(BIN)/mypy --strict src

.PHONY: imports
imports: $(READY)
	$(BIN)/lint-imports

.PHONY: browser
browser:  # some tests look at the console in a browser; Debian has one
	@command -v chromium >/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  echo 'Installing Chromium ...' && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null; } || \
	echo 'There is no Chromium here; the tests that look at the console in a browser are skipped.' >&2

.PHONY: test
test: $(READY) browser  ## run the tests against a private PostgreSQL (WORKERS=2, ARGS=tests/model -k cron)
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

.PHONY: bench
bench: $(VENV)/.bench  ## measure beside a floor and peers, ten minutes (ARGS='--size small --only drain')
	$(BIN)/python -m bench $(ARGS)

$(VENV)/.bench: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]' || \
	  echo 'The peers cannot be installed here; what is missing is left out.' >&2
	@touch $@

.PHONY: pictures
pictures: $(READY) browser  ## take the pictures of the console that the docs show
	$(BIN)/python -m tests.web.pictures

.PHONY: demo
demo: $(VENV)/.ready-demo  ## run the main example from beginning to end
	$(BIN)/python -m examples.flights.demo

.PHONY: clean
clean:  ## remove what the other targets made here
	rm -rf $(VENV) .koken build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
