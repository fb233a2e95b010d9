# `make` alone lists what can be made.

# The first Python that verax runs on; PYTHON=/path/to/python takes another.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& echo $$python && break; done)
ARGS ?=
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e
# peer_*.py are parts of bench.peers, static_encoder makes a model from files that are not part of the repository, and
# gallery makes pictures
BENCHES = $(filter-out peer_% static_encoder gallery,$(basename $(notdir $(shell grep -l __main__ bench/*.py))))

.DEFAULT_GOAL := help
.PHONY: help setup demo test index check wheel docs notebooks bench gallery clean

help:  ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/installed  ## make the environment in .venv and install verax

demo: .venv/installed  ## audit the shipped model: plan, verdict and report, in less than a minute
	$(BIN)/verax audit world/nli world/nli --budget 40s --out runs/demo

test: .venv/installed-test  ## run the tests; ARGS="-k word" is passed to pytest
	$(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

index: .venv/installed  ## renew the index of methods, metrics, data sets and other components
	$(BIN)/python -m verax.registry.index

check: .venv/installed-test  ## lint, format, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

wheel: .venv/installed-test  ## build the release in dist/ and check it
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	VERAX_WHEEL=$$(ls dist/*.whl) $(BIN)/python -m pytest -q tests/test_packaging.py

docs: .venv/installed-test  ## build the documentation as a site in site/ and check it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	VERAX_SITE=site $(BIN)/python -m pytest -q tests/test_site.py

notebooks: .venv/installed-test  ## execute the notebooks of the documentation and store their outputs
	$(BIN)/python docs/_site/notebooks.py

bench: .venv/installed-test .bench/interpreto/installed  ## run every benchmark
	@set -e; for name in $(BENCHES); do echo "== bench.$$name"; $(BIN)/python -m bench.$$name; done

gallery: .venv/installed-test  ## renew the pictures of the documentation; needs Chromium
	$(BIN)/python -m bench.gallery

clean:  ## remove the environment and every cache; runs stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .bench build dist site
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two processes share the cores, so each computes in one thread; nothing may reach for the network.
test notebooks: export OMP_NUM_THREADS = 1
test notebooks: export MKL_NUM_THREADS = 1
test notebooks: export OPENBLAS_NUM_THREADS = 1
test notebooks: export TOKENIZERS_PARALLELISM = false
test notebooks: export HF_HUB_OFFLINE = 1

.venv/python:
	@test -n "$(PYTHON)" || { echo "verax needs Python 3.11, 3.12 or 3.13, and none was found: make setup PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
		|| { echo "verax needs Python 3.11, 3.12 or 3.13; PYTHON=$(PYTHON) is none of them" >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	@touch $@

.venv/installed: pyproject.toml constraints.txt | .venv/python
	$(INSTALL) .
	@touch $@

.venv/installed-test: pyproject.toml constraints.txt | .venv/python
	$(INSTALL) '.[test]'
	@touch .venv/installed $@

# interpreto has pins of its own, and so an environment of its own; an unpinned torch would pull gigabytes.
.bench/interpreto/installed: bench/constraints-interpreto.txt | .venv/python
	$(BIN)/python -m venv --clear .bench/interpreto
	.bench/interpreto/bin/python -m pip install --disable-pip-version-check -c bench/constraints-interpreto.txt 'interpreto==0.5.*'
	@touch $@
