# Everything here works on a fresh machine: Python 3.11+, pip and make are all that is needed.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
# most tests wait for processes; tests/scheduling.py says which worker runs which
CHROMIUM ?= /usr/bin/chromium
WORKERS ?= 3
PYTEST := $(BIN)/python -m pytest -q -n $(WORKERS)

.PHONY: help serve console check-console built-console test-console console-screenshots test test-long test-all test-faults test-compat check format bench bench-recall bench-calibration bench-load bench-services bench-hostile bench-import fuzz bench-peers bench-dropin bench-growth bench-console bench-cost lock clean

help:
	@echo "make serve   start Keepword on 127.0.0.1:8002 (sets itself up)"
	@echo "make test    run the tests but for those that take longest (sets itself up)"
	@echo "make test-all      also those that take long: starts, kills, hostile text, the whole leak matrix; what CI runs"
	@echo "make test-faults   kill, stop and fill up everything, for about a quarter of an hour (make test-all has a short form)"
	@echo "make console       build the console's files again (needs Node.js and npm)"
	@echo "make test-compat   beside other people's programs, which are got from PyPI into a cache"
	@echo "make test-console  the console in Chromium (Debian's; fetched if missing)"
	@echo "make check   lint, types and import contracts"
	@echo "make bench   run every benchmark in bench/"
	@echo "make bench-recall DATA=folder   measure recall on LoCoMo and LongMemEval"
	@echo "make bench-calibration DATA=folder   fit scores to chances, and how far they hold; writes docs/calibration.svg"
	@echo "make bench-load SECONDS=600     200 agents at 50, 100 and 200 % of what the machine holds"
	@echo "make bench-services KILLS=20    1, 2 and 4 services on one PostgreSQL, which is then killed under load"
	@echo "make bench-hostile SECONDS=180  eight attackers beside twenty honest agents of another tenant"
	@echo "make fuzz REQUESTS=100000       wrong requests to every route, by a fuzzer of our own and by schemathesis"
	@echo "make bench-peers DATA=folder    measure Keepword beside mem0, LangGraph, Chroma, txtai"
	@echo "make bench-dropin     measure mem0's client and LangGraph's store here beside mem0 and PostgresStore"
	@echo "make bench-growth SIZES=10000,100000    how times grow with what is stored"
	@echo "make bench-console    how soon the console's views show their first rows, with 100,000 messages"
	@echo "make bench-cost    what a million messages cost, written into docs/scale.md"
	@echo "make lock    pin the requirements again"

serve: .venv/run
	@exec $(BIN)/keepword serve

test: .venv/dev
	@$(PYTEST) -m "not long"

test-long: .venv/dev
	@$(PYTEST) -m long --durations=20 --durations-min=10

test-all: test test-long

test-faults: .venv/dev
	@FAULTS=long PYTHONPATH=bench $(BIN)/python -m pytest -q -n 0 tests/faults

test-compat: .venv/dev
	@COMPAT=1 $(BIN)/python -m pytest -q -n 0 tests/compat

check: .venv/dev
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

# the console's built files are committed: only who changes it needs Node.js
console/node_modules/made: console/package-lock.json
	@cd console && npm ci --no-progress --loglevel=error && touch node_modules/made

console: console/node_modules/made
	@cd console && npx tsc --noEmit && node build.mjs

check-console:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory built-console; \
	else echo "The console's build was not checked: there is no npm here."; fi

# Playwright drives Debian's Chromium; both are fetched for these tests alone
.venv/console: .venv/dev requirements/console.txt
	@$(PIP) install --no-deps --require-hashes -r requirements/console.txt && touch $@

test-console: .venv/console console/node_modules/made
	@test -x $(CHROMIUM) || (apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium) >/dev/null 2>&1 || true
	@if test -x $(CHROMIUM); then CONSOLE=1 CHROMIUM=$(CHROMIUM) $(BIN)/python -m pytest -q -n 2 tests/console; \
	else echo "The console was not tested: there is no Chromium at $(CHROMIUM), and apt-get has none."; fi

console-screenshots: .venv/console
	@CHROMIUM=$(CHROMIUM) $(BIN)/python scripts/console_screenshots.py

built-console: console/node_modules/made
	@rm -rf console/node_modules/.built && cd console && npx tsc --noEmit && node build.mjs node_modules/.built
	@diff -rq console/node_modules/.built src/keepword/http/console || { echo "The console's built files are not those of its source: run make console, and commit."; exit 1; }

format: .venv/dev
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench-recall: .venv/dev
	@DATA="$(or $(DATA),../shared/data)" OMP_NUM_THREADS=1 $(BIN)/python bench/recall.py

bench-calibration: .venv/dev
	@DATA="$(or $(DATA),../shared/data)" OMP_NUM_THREADS=1 PYTHONPATH=scripts/encoder $(BIN)/python bench/calibration.py

bench-load: .venv/dev
	@SECONDS="$(or $(SECONDS),600)" $(BIN)/python bench/load.py

bench-services: .venv/dev
	@PYTHONPATH=tests $(BIN)/python bench/services.py

bench-hostile: .venv/dev
	@SECONDS="$(or $(SECONDS),180)" $(BIN)/python bench/hostile.py

bench-import: .venv/dev
	@MB="$(or $(MB),100)" SECONDS="$(or $(SECONDS),600)" EXPORT="$(EXPORT)" $(BIN)/python bench/import_history.py

fuzz: .venv/dev
	@REQUESTS="$(or $(REQUESTS),100000)" PYTHONPATH=tests $(BIN)/python bench/fuzz.py

bench-peers: .venv/dev
	@DATA="$(or $(DATA),../shared/data)" PYTHONPATH=bench:bench/peers $(BIN)/python bench/peers/run.py

bench-dropin: .venv/dev
	@PYTHONPATH=bench:bench/peers $(BIN)/python bench/drop_in.py

bench-console: .venv/console
	@test -x $(CHROMIUM) || (apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium) >/dev/null 2>&1 || true
	@CHROMIUM=$(CHROMIUM) $(BIN)/python bench/console.py

bench-growth: .venv/dev
	@$(BIN)/python bench/growth.py

bench-cost: .venv/dev
	@$(BIN)/python bench/cost.py

bench: .venv/dev
	@for script in $(filter-out bench/recall.py bench/calibration.py bench/load.py bench/services.py bench/index_ways.py bench/growth.py bench/cost.py bench/hostile.py bench/fuzz.py bench/import_history.py bench/console.py bench/drop_in.py,$(wildcard bench/[!_]*.py)); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

lock: .venv/dev
	@$(BIN)/uv pip compile -q pyproject.toml --extra build --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-emit-index-url -o requirements/run.txt
	@$(BIN)/uv pip compile -q pyproject.toml --extra build --extra dev --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-emit-index-url -c requirements/run.txt -o requirements/dev.txt
	@echo playwright | $(BIN)/uv pip compile -q - --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-emit-index-url -c requirements/dev.txt -o requirements/console.txt

clean:
	rm -rf .venv

.venv/made:
	@$(PYTHON) -c 'import sys; sys.exit("Keepword needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@echo "Making .venv (once) ..."
	@$(PYTHON) -m venv .venv && touch $@

.venv/run: .venv/made requirements/run.txt pyproject.toml
	@echo "Installing what Keepword needs: 80 packages, 150 MB to download, 470 MB on disk (once, about a minute) ..."
	@$(PIP) install --no-deps --require-hashes -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev: .venv/run requirements/dev.txt
	@echo "Installing what its tests need (once, about half a minute) ..."
	@$(PIP) install --no-deps --require-hashes -r requirements/dev.txt
	@touch $@
