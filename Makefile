# floe: Kafka topics into Iceberg tables, exactly once, on Airflow and Spark. `make` lists what can be made.
#
# Variables: PYTHON (3.11 or newer), KAFKA_PORT, KAFKA_CONTROLLER_PORT, AIRFLOW_PORT, SCHEMA_REGISTRY_PORT, S3_PORT, FLOE_STATE
# (folder of the local stack), FLOE_DAGS_FOLDER, FLOE_PLUGINS_FOLDER, FLOE_CONNECTORS_DIR (what the local Airflow is
# given), FLOE_JARS (folder of the broker's and Spark's jars); as in `make up AIRFLOW_PORT=18080`. REGISTRY=1: with a
# schema registry, and the demo's orders in Avro. STORE=s3: the demo's tables on an S3 store, which is in memory.
# EMPTY=1: without the demo's connector and records; connectors are in .floe/connectors or made by REST. A stack remembers ports and
# folders in its state folder, for commands that are not given them.

# The first Python here that is new enough; `python3` if none is, so that the message names it.
ifndef PYTHON
is-new-enough = $(shell $(1) -c 'import sys; sys.version_info >= (3, 11) and print("$(1)")' 2>/dev/null)
PYTHON := $(firstword $(foreach name,python3 python3.13 python3.12 python3.11 python3.14,$(call is-new-enough,$(name))) python3)
endif
VENV := .venv/bin
ANY_PYTHON = $(if $(wildcard $(VENV)/python),$(VENV)/python,$(PYTHON))

# Tests mostly wait for brokers, catalogs and Airflow: three at a time on two cores, each with a broker of its own; the long ones first, so
# that no worker is left alone with one at the end.
SIDE_BY_SIDE = -n 3 --dist loadfile --no-loadscope-reorder

# The tests of a room (ROOM=catalogs, ROOM=job/convert), its contract suite with them.
room-tests = $(wildcard tests/unit/$(ROOM) tests/contracts/test_$(notdir $(ROOM))*.py)

# Some machines export it; without bytecode every Spark job starts seconds later.
unexport PYTHONDONTWRITEBYTECODE
export KAFKA_PORT KAFKA_CONTROLLER_PORT AIRFLOW_PORT SCHEMA_REGISTRY_PORT REGISTRY S3_PORT STORE EMPTY FLOE_STATE FLOE_JARS FLOE_DAGS_FOLDER FLOE_PLUGINS_FOLDER FLOE_CONNECTORS_DIR

.DEFAULT_GOAL := help
.PHONY: contracts screenshot help setup setup-dev up down status query demo programs test test-unit test-room test-catalogs test-full proofs faults soak bench lint format types imports check keys doctor connector-status clean distclean python new-enough connector-named room-named

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

python:
	@command -v $(PYTHON) >/dev/null || { echo "error: there is no $(PYTHON): install Python 3.11 or newer, or name one, as in make PYTHON=python3.12 demo"; exit 1; }

setup: python ## make .venv with what floe runs on (skipped when nothing changed; STORE=s3: and the store)
	@$(PYTHON) -m stack.venv

setup-dev: python ## the same, and what tests and linters need
	@$(PYTHON) -m stack.venv --dev

demo: setup ## the whole way once: Kafka, Airflow, Spark, an Iceberg table; then everything is stopped (REGISTRY=1: with Avro, STORE=s3: on S3)
	@$(VENV)/python -m stack demo

up: setup ## start the stack with the demo's records and leave it running (REGISTRY=1: with a schema registry, in Avro; STORE=s3: with an S3 store; EMPTY=1: without records)
	@$(VENV)/python -m stack up

down: ## stop the stack
	@$(ANY_PYTHON) -m stack down

status: ## show what runs and where
	@$(ANY_PYTHON) -m stack status

# The statement as it was written: make would expand a $ in it, and a shell what is in backticks.
query: override export FLOE_SQL := $(value SQL)
query: setup ## read the stack's tables by Spark: make query SQL="select …", or lines of PySpark at a prompt (CONNECTOR=file: its catalog)
	@$(VENV)/python -m stack query $(if $(CONNECTOR),--connector "$(CONNECTOR)") -- "$$FLOE_SQL"

programs: python
	@PYTHON=$(PYTHON) .ci/programs

test: programs setup-dev lint types imports ## run what CI runs: style, types, imports, and the tests marked quick or ci (35 minutes on 2 cores)
	@$(VENV)/python -m pytest $(SIDE_BY_SIDE) --durations=25

test-unit: setup-dev ## run the tests that need no broker (marked quick)
	@$(VENV)/python -m pytest tests/unit tests/contracts $(SIDE_BY_SIDE)

test-room: setup-dev room-named ## run the quick tests of one room: make test-room ROOM=catalogs, ROOM=job/convert
	@$(VENV)/python -m pytest $(room-tests) -m quick --hypothesis-profile=quick -q

test-catalogs: setup-dev ## run all tests of catalogs, on a real one of each type (those that start slowly too)
	@$(VENV)/python -m pytest tests/contracts/test_catalogs.py tests/integration/catalogs tests/integration/stores tests/unit/catalogs $(SIDE_BY_SIDE) -m ""

contracts: setup-dev ## run the contract suites on distributions of yours: EXTENSIONS=acme-floe CASES=contract_cases.py; of them ONLY=com.acme
	@FLOE_EXTENSIONS=$(EXTENSIONS) FLOE_CONTRACT_CASES=$(abspath $(CASES)) $(VENV)/python -m pytest tests/contracts/test_converters.py tests/contracts/test_transforms.py tests/contracts/test_catalogs.py tests/contracts/test_maintenance_jobs.py -m quick $(if $(ONLY),-k "$(ONLY)")

test-full: programs setup-dev ## run the long tests (marked full) with the whole matrix of faults, and more examples of each property (150 minutes on 2 cores)
	@$(VENV)/python -m pytest $(SIDE_BY_SIDE) -m "full or hypothesis" --hypothesis-profile=full --durations=25

proofs: programs setup-dev ## run the proofs that take hours (marked hours); a second call goes on where the first one stopped
	@$(VENV)/python -m pytest -p tests.support.proofs $(SIDE_BY_SIDE) -m hours --durations=25

faults: setup-dev ## run the whole matrix of faults, each checked by the oracle (about 15 minutes)
	@$(VENV)/python -m pytest tests/faults -m "" -n 2 --dist worksteal

soak: setup-dev ## random faults for MINUTES (10), in parts of 20 that go on after an interruption, replayable by SEED, on topics of FORMAT (json, avro), then the oracle's report
	@PYTHONPATH=plugins:spark_jobs:. $(VENV)/python -m tests.faults.soak $(if $(filter avro,$(FORMAT)),--avro) $(or $(MINUTES),10) $(SEED)

bench: setup-dev ## measure floe beside the sink, Spark's own source and the floor (45 minutes; QUICK=1: 12; TINY=1: does it run?; SUITES=…; PUBLISH=1); AGAINST=baseline or commit: is floe as fast as then? (30 minutes; SHAPES="backlog nested", ROUNDS=9)
	@PYTHONPATH=plugins:spark_jobs:. $(VENV)/python -m bench $(if $(QUICK),--size quick) $(if $(TINY),--size tiny) $(if $(PUBLISH),--publish) $(if $(AGAINST),--against $(AGAINST)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(SUITES) $(if $(SHAPES),--shapes $(SHAPES))

lint: setup-dev ## check style
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .

format: setup-dev ## write the style
	@$(VENV)/ruff check --fix .
	@$(VENV)/ruff format .

types: setup-dev ## check types
	@$(VENV)/mypy --strict plugins/floe spark_jobs stack bench docs/examples/extension/floe_example

imports: setup-dev ## check the direction of imports
	@PYTHONPATH=plugins:spark_jobs:. $(VENV)/lint-imports

screenshot: setup-dev ## make the docs' pictures: of the walks, on a stack of their own, and of the page with made-up connectors
	@FLOE_PICTURES=docs/images $(VENV)/python -m pytest tests/browser/test_walks.py -m ""
	@$(VENV)/python tests/browser/page_pictures.py

check: connector-named new-enough ## validate connectors, by Python alone: make check CONNECTOR=file or folder, STRICT=1, CONNECT=1
	@PYTHONPATH=plugins $(ANY_PYTHON) -m floe check $(if $(STRICT),--strict) $(if $(CONNECT),--connect) $(CONNECTOR)

keys: new-enough ## search the configuration keys: make keys PATTERN=commit
	@PYTHONPATH=plugins $(ANY_PYTHON) -m floe keys $(if $(PATTERN),'$(PATTERN)')

doctor: connector-named setup ## find out what is wrong around a connector: make doctor CONNECTOR=file, folder or name, READ_ONLY=1
	@$(VENV)/python -m stack.floe_command doctor $(if $(READ_ONLY),--read-only) $(CONNECTOR)

connector-status: setup ## show lag, last commits and problems of connectors: make connector-status CONNECTOR=file or name (all)
	@$(VENV)/python -m stack.floe_command status $(CONNECTOR)

new-enough: python
	@$(ANY_PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(ANY_PYTHON) is `$(ANY_PYTHON) -V 2>&1`: floe needs 3.11 or newer; name one, as in make PYTHON=python3.11 check"; exit 1; }

room-named:
	$(if $(and $(ROOM),$(room-tests)),@true,$(error say which room of tests/unit: make test-room ROOM=catalogs))

connector-named:
	$(if $(CONNECTOR),@true,$(error say which connector: make check CONNECTOR=dags/connectors/pizzas-on-ice.json))

clean: ## stop the stack and remove its data (the downloaded jars are kept)
	@$(ANY_PYTHON) -m stack clean

distclean: clean ## the same, and remove the jars, .venv and all caches
	@rm -rf .venv .floe .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
