# `make demo` and `make test` create their own environments. They need Python 3.11 or later, git and make.
#
#   .venv-run  what a user installs: the package and its dependencies (requirements/run.txt), for `make demo`
#   .venv      all extras, test tools and linters (requirements/dev.txt), for everything else
#   .venv-frameworks  agent frameworks and their own test suites (requirements/frameworks.txt), for `make test-frameworks`
#   .venv-crewai  CrewAI, which needs an older mcp than the other frameworks (requirements/crewai.txt), likewise
#   .venv-peers other memory systems (requirements/peers.txt), for `make bench-peers`
#   .venv-cluster PostgreSQL, Patroni and etcd (requirements/cluster.txt), for `make test-cluster`
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready
RUN_BIN := .venv-run/bin
RUN_READY := .venv-run/.ready
# Many tests wait for a process or a database: one worker more than there are cores keeps these busy.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))
unexport PYTHONDONTWRITEBYTECODE  # the tests start many processes; with cached bytecode each starts in half the time

COMPILE = $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate

# $(call install,FOLDER,REQUIREMENTS,PACKAGE): uv where it is installed and works, otherwise venv and pip.
# PACKAGE is `-e .`, or empty for tools without muisti. hatchling is among the requirements, so that the
# build downloads nothing without a hash.
define install
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed; name it with make PYTHON=…"; exit 1; }
	@echo "Setting up $(1) …"
	@{ command -v uv >/dev/null 2>&1 && \
		uv venv -q --allow-existing --python "$(PYTHON)" $(1) && \
		uv pip install -q --python $(1)/bin/python --require-hashes -r $(2) && \
		{ [ -z "$(3)" ] || uv pip install -q --python $(1)/bin/python --no-deps --no-build-isolation $(3); }; } || \
	{ "$(PYTHON)" -m venv $(1) && \
		$(1)/bin/python -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r $(2) && \
		{ [ -z "$(3)" ] || \
			$(1)/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation $(3); }; }
	@touch $(1)/.ready
endef

FRAMEWORKS := google-adk langchain langgraph llama-index openai-agents pydantic-ai
PLUGINS := -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function -p no:benchmark -p no:codspeed
CREWAI_FILES := $(wildcard src/muisti/integrations/crewai*.py tests/frameworks/test_crewai.py examples/frameworks/crewai*.py)
FRAMEWORK_FILES := $(filter-out $(CREWAI_FILES),$(wildcard \
	$(addsuffix *.py,$(addprefix src/muisti/integrations/,$(subst -,_,$(FRAMEWORKS)))) \
	tests/frameworks/*.py examples/frameworks/*.py))

.PHONY: demo test test-all test-long test-agents test-cluster test-frameworks lint types types-frameworks imports shape docs docs-write check faults bench bench-confidence bench-quality bench-vectors bench-order bench-duplicates bench-privacy bench-extraction bench-talk bench-load bench-peers bench-scale bench-postgres bench-hooks bench-cold bench-waiting bench-lock fuzz-api pictures pins sbom soak clean

demo: $(RUN_READY)  ## a tour on a temporary vault
	@$(RUN_BIN)/muisti demo

test: $(READY)  ## every promise at least once; no browser, no Node, no fuzzing
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=10 --durations-min=5

test-all: $(READY)  ## the whole suite, as CI runs it
	@$(BIN)/python scripts/node.py browser
	@$(BIN)/python scripts/pgbouncer.py
	@$(MAKE) --no-print-directory .venv-cluster/.ready || echo "No cluster here: its tests are skipped."
	MUISTI_TESTS=all $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --ignore=tests/agents --durations=20 --durations-min=5
	@$(MAKE) --no-print-directory test-agents
	@$(MAKE) --no-print-directory types-frameworks test-frameworks

test-frameworks: .venv-frameworks/.ready .venv-crewai/.ready  ## integrations, with the frameworks and suites that others wrote
	MUISTI_TESTS=all .venv-frameworks/bin/python -m pytest tests/frameworks -n auto $(PLUGINS)
	MUISTI_TESTS=all .venv-crewai/bin/python -m pytest tests/frameworks/test_crewai.py

test-agents: $(READY)  ## real agents from npm; skips, with a message, what cannot be installed
	@$(BIN)/python scripts/node.py agents
	MUISTI_TESTS=all $(BIN)/python -m pytest tests/agents

test-long: $(READY)  ## the counts that take hours: every crash point, thousands of requests
	@$(BIN)/python scripts/node.py browser
	MUISTI_TESTS=long MUISTI_FUZZ=$(or $(EXAMPLES),400) $(BIN)/python -m pytest -n auto --dist worksteal --ignore=tests/agents

test-cluster: $(READY) .venv-cluster/.ready  ## three PostgreSQL servers, the leader killed ten times; KILLS=N
	MUISTI_TESTS=all MUISTI_KILLS=$(or $(KILLS),10) $(BIN)/python -m pytest tests/cluster -s

faults: $(READY)  ## only the crash tests of test-long
	MUISTI_TESTS=long $(BIN)/python -m pytest tests/faults -n auto

fuzz-api: $(READY)  ## only the REST fuzzing of test-long
	MUISTI_TESTS=long MUISTI_FUZZ=$(or $(EXAMPLES),400) $(BIN)/python -m pytest tests/rest/test_J3_fuzz.py

check: lint types imports shape docs test  ## what a change should pass before it is committed; .ci/run has the rest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

types-frameworks: $(READY) .venv-frameworks/.ready .venv-crewai/.ready  ## types of the integrations: they need the frameworks
	$(BIN)/mypy --python-executable .venv-frameworks/bin/python $(FRAMEWORK_FILES)
	$(BIN)/mypy --python-executable .venv-crewai/bin/python $(CREWAI_FILES)

imports: $(READY)
	$(BIN)/lint-imports

shape: $(READY)
	$(BIN)/python scripts/shape.py

docs: $(READY)  ## the generated pages must be what the code says
	$(BIN)/python -m scripts.docs --check

docs-write: $(READY)
	$(BIN)/python -m scripts.docs

bench: $(READY)
	$(BIN)/python -m benchmarks.speed

bench-confidence: $(READY)  ## needs the evaluation data; fits the constants of the score
	$(BIN)/python -m benchmarks.confidence

bench-quality: $(READY)  ## needs the evaluation data, see docs/benchmarks.md
	$(BIN)/python -m benchmarks.quality

bench-vectors: $(READY)  ## its yardstick needs torch, in an environment of its own
	$(BIN)/python -m benchmarks.peer_minilm --setup
	$(BIN)/python -m benchmarks.vector_speed

bench-order: $(READY)
	$(BIN)/python -m benchmarks.order

bench-duplicates: $(READY)  ## needs the evaluation data
	$(BIN)/python -m benchmarks.duplicates

bench-privacy: $(READY)  ## false alarms need the evaluation data
	$(BIN)/python -m benchmarks.privacy

bench-extraction: $(READY)  ## needs the evaluation data
	$(BIN)/python -m benchmarks.everyday
	$(BIN)/python -m benchmarks.extraction
	$(BIN)/python -m benchmarks.through_extraction

bench-talk: $(READY)
	$(BIN)/python -m benchmarks.talk

bench-load: $(READY)
	$(BIN)/python -m benchmarks.load

bench-hooks: $(READY)  ## the gate needs the evaluation data
	$(BIN)/python -m benchmarks.hooks

bench-cold: $(READY)  ## commands and hooks in a process of their own, warm and cold
	$(BIN)/python -m benchmarks.cold

bench-waiting: $(READY)
	$(BIN)/python -m benchmarks.waiting

bench-lock: $(READY)  ## how long eight writers wait for each other
	$(BIN)/python -m benchmarks.lock

bench-peers: $(READY) .venv-peers/.ready  ## other systems, in an environment of their own
	$(BIN)/python -m benchmarks.peers

bench-scale: $(READY)  ## search in large vaults, next to the bare query embedding
	$(BIN)/python -m benchmarks.search_scale

bench-postgres: $(READY)  ## PostgreSQL next to SQL written by hand, and to a folder
	$(BIN)/python -m benchmarks.postgres

pictures: $(READY)  ## renew the pictures of the page in docs
	$(BIN)/python scripts/node.py browser
	$(BIN)/python scripts/pictures.py

pins: $(READY)  ## update requirements/, with hashes and without the address of a registry
	$(BIN)/python -m pip install -q uv
	$(COMPILE) pyproject.toml --group build -o requirements/run.txt
	$(COMPILE) pyproject.toml --extra all --group dev -o requirements/dev.txt
	$(COMPILE) pyproject.toml requirements/peers.in --group build -o requirements/peers.txt
	$(COMPILE) requirements/cluster.in -o requirements/cluster.txt
	$(COMPILE) pyproject.toml $(addprefix --extra ,$(FRAMEWORKS)) --group frameworks -o requirements/frameworks.txt
	$(COMPILE) pyproject.toml --extra crewai --group crewai -o requirements/crewai.txt

soak: $(READY)  ## half an hour of mixed load on a server: nothing may grow; SECONDS=60 shortens it
	$(BIN)/python -m benchmarks.soak --seconds $(or $(SECONDS),1800)

sbom: $(READY)  ## a software bill of materials from requirements/, in build/
	$(BIN)/python scripts/sbom.py

$(READY): pyproject.toml requirements/dev.txt
	$(call install,.venv,requirements/dev.txt,-e .)

$(RUN_READY): pyproject.toml requirements/run.txt
	$(call install,.venv-run,requirements/run.txt,-e .)

.venv-frameworks/.ready: pyproject.toml requirements/frameworks.txt
	$(call install,.venv-frameworks,requirements/frameworks.txt,-e .)

.venv-crewai/.ready: pyproject.toml requirements/crewai.txt
	$(call install,.venv-crewai,requirements/crewai.txt,-e .)

.venv-peers/.ready: pyproject.toml requirements/peers.txt
	$(call install,.venv-peers,requirements/peers.txt,-e .)

.venv-cluster/.ready: requirements/cluster.txt
	$(call install,.venv-cluster,requirements/cluster.txt)

clean:
	rm -rf .venv .venv-run .venv-frameworks .venv-crewai .venv-peers .venv-cluster .venv-minilm .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis .import_linter_cache
