# `make demo` and `make test` set everything up by themselves: Python 3.11 or later, git and make are enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# uv is faster where it is there and works; pip is always there.
WITH_UV = { command -v uv >/dev/null 2>&1 && \
	uv venv -q --allow-existing --python "$(PYTHON)" $(VENV) && \
	uv pip install -q --python $(BIN)/python -r requirements/dev.txt && \
	uv pip install -q --python $(BIN)/python --no-deps -e .; }
WITH_PIP = { "$(PYTHON)" -m venv $(VENV) && \
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements/dev.txt && \
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .; }

.PHONY: demo test test-agents lint types imports shape docs docs-write check faults bench bench-quality bench-vectors bench-order bench-duplicates bench-privacy bench-extraction bench-talk bench-load bench-peers bench-hooks fuzz-api pictures pins clean

demo: $(READY)
	@$(BIN)/muisti demo

test: $(READY)
	@$(BIN)/python scripts/node.py browser
	$(BIN)/python -m pytest -n auto --ignore=tests/agents --durations=20 --durations-min=5

test-agents: $(READY)  ## with real agents from npm; skips, with a message, what cannot be installed
	@$(BIN)/python scripts/node.py agents
	$(BIN)/python -m pytest tests/agents

check: lint types imports shape docs test  ## everything that .ci/run asks for

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

shape: $(READY)
	$(BIN)/python scripts/shape.py

docs: $(READY)  ## the generated pages must be what the code says
	$(BIN)/python scripts/docs.py --check

docs-write: $(READY)
	$(BIN)/python scripts/docs.py

faults: $(READY)  ## the long version: every crash point under strace, more processes, more examples
	MUISTI_LONG=1 $(BIN)/python -m pytest tests/faults -n auto

bench: $(READY)
	$(BIN)/python -m benchmarks.speed

bench-quality: $(READY)  ## needs the evaluation data, see docs/benchmarks.md
	$(BIN)/python -m benchmarks.quality

bench-vectors: $(READY)
	$(BIN)/python -m benchmarks.vector_speed

bench-order: $(READY)
	$(BIN)/python -m benchmarks.order

bench-duplicates: $(READY)  ## needs the evaluation data
	$(BIN)/python -m benchmarks.duplicates

bench-privacy: $(READY)  ## false alarms need the evaluation data
	$(BIN)/python -m benchmarks.privacy

bench-extraction: $(READY)  ## needs the evaluation data
	$(BIN)/python -m benchmarks.extraction
	$(BIN)/python -m benchmarks.through_extraction

bench-talk: $(READY)
	$(BIN)/python -m benchmarks.talk

fuzz-api: $(READY)  ## the long version: thousands of requests that nobody would send
	MUISTI_FUZZ=$(or $(EXAMPLES),400) $(BIN)/python -m pytest tests/rest/test_J3_fuzz.py

bench-load: $(READY)
	$(BIN)/python -m benchmarks.load

bench-hooks: $(READY)  ## the gate needs the evaluation data
	$(BIN)/python -m benchmarks.hooks

bench-peers: $(READY)  ## other systems, in an environment of their own
	$(BIN)/python -m benchmarks.peers --setup
	$(BIN)/python -m benchmarks.peers

pictures: $(READY)  ## renew the pictures of the page in docs
	$(BIN)/python scripts/node.py browser
	$(BIN)/python scripts/pictures.py

pins: $(READY)  ## renew requirements/dev.txt
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
		--no-emit-index-url --no-emit-find-links --no-header --no-annotate -o requirements/dev.txt

$(READY): pyproject.toml requirements/dev.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed"; exit 1; }
	@echo "Setting up $(VENV) …"
	@$(WITH_UV) || $(WITH_PIP)
	@touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
