# The commands of this project; each makes and uses the virtual environment .venv by itself.
#   make demo    flights of a year meet subscriptions through a broker and a Spark job of their own
#   make test    all tests, in two processes
#   make check   formatting, lint, types and the rule of imports
#   make bench   the end-to-end benchmark
#   make papers  the figures of two papers, drawn with the engines here (FULL=1 for the papers' own sizes)
#   make faults  break a job under load in many ways, N=50 times, and count what is lost, doubled, wrong or stuck
#   make fuzz    every decoder against hostile records, for MINUTES=10
#   make fuzz-matching  the engine against the oracle on random subscriptions and events, for MINUTES=10
#   make golden, docs, lock  for who changes the index's format, settings or requirements: make the files anew that follow
#   make clean   remove what the commands made, .venv included
# PYTHON=/path/to/python3 names the interpreter for .venv; ARGS="…" passes arguments on, e.g. make test ARGS=tests/index.

VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
N ?= 50
MINUTES ?= 10
export PYTHON

# The job would do so when it starts, but nobody would know what it waits for.
COMPILE = echo "tocsin: compiling the matching kernels, once, about a minute" >&2 && $(BIN)/python -m stream.warm_up

# Each start of Spark in the tests is then some seconds shorter; "make demo" starts one only.
ARCHIVE = echo "tocsin: archiving Spark's classes, once, half a minute" >&2 && $(BIN)/python -m stream.class_archive

.PHONY: help demo test check bench papers faults fuzz fuzz-matching golden docs lock clean java

help:
	@sed -n 's/^#   //p' Makefile

demo: java $(VENV)/.has-demo
	@$(BIN)/tocsin demo $(ARGS)

test: java $(VENV)/.has-dev
	$(BIN)/pytest -n 2 --no-loadscope-reorder $(ARGS)

check: $(VENV)/.has-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

bench: java $(VENV)/.has-dev
	$(BIN)/python -m benchmarks.end_to_end $(ARGS)

faults: java $(VENV)/.has-dev
	$(BIN)/python -m tests.faults.run --faults $(N) $(ARGS)

papers: $(VENV)/.has-dev
	$(BIN)/python -m benchmarks.papers $(ARGS)

fuzz: $(VENV)/.has-dev
	$(BIN)/python -m tests.fuzz.decoders --minutes $(MINUTES) $(ARGS)

fuzz-matching: $(VENV)/.has-dev
	$(BIN)/python -m tests.fuzz.run --minutes $(MINUTES) $(ARGS)

# A directory of the index's format for the tests, when FORMAT in index/array_file.py was raised.
golden: $(VENV)/.has-dev
	$(BIN)/python -m tests.index.golden $(ARGS)

# Reference pages that are made from the code; a test keeps them in step.
docs: $(VENV)/.has-dev
	$(BIN)/tocsin settings --markdown > docs/settings.md
	$(BIN)/python -c 'from stream.settings_reference import settings_toml; print(settings_toml(), end="")' > stream/tocsin.toml

java:
	@sh deploy/java.sh

$(VENV)/.has-demo: pyproject.toml requirements.lock
	@sh deploy/environment.sh $(VENV) demo
	@$(COMPILE)
	@touch $@

$(VENV)/.has-dev: pyproject.toml requirements.lock
	@sh deploy/environment.sh $(VENV) dev
	@$(COMPILE)
	@$(ARCHIVE)
	@touch $@ $(VENV)/.has-demo

# Resolve the versions that pyproject.toml leaves open anew, in an environment of their own.
lock:
	@CONSTRAINTS=/dev/null sh deploy/environment.sh build/lock dev
	@{ echo "# Every package that is installed, at the version that was tested; made by \"make lock\"."; \
	   build/lock/bin/python -m pip freeze --exclude-editable; } > build/requirements.lock
	@mv build/requirements.lock requirements.lock
	@rm -rf build/lock

clean:
	rm -rf $(VENV) build dist tocsin.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find schemas index stream tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
