# Everything runs in .venv, which is made on the first call and left alone until pyproject.toml or constraints.txt change.
# uv installs when it is there, else venv and pip. `make PYTHON=/path/to/python` chooses an interpreter.

BIN := .venv/bin
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-full real proof lint format types imports spelling hooks coverage bench bench-keep peers fuzz mutants sequences words tables pictures wheel release-check clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

demo: .venv/.core ## play the shipped helpdesk scenarios and show what came out
	$(BIN)/simtrain run helpdesk --episodes 200 --show

quick: .venv/.dev ## the tests that take moments: no socket, no browser, no node
	SIMTRAIN_QUICK=1 $(BIN)/pytest -n $(JOBS) --dist worksteal -m "not full and not slow"

test: lint types imports spelling ## style, types, import rules, spelling, and the tests that take seconds
	$(BIN)/pytest -n $(JOBS) --dist worksteal

test-full: .venv/.dev ## the tests that take minutes; CI runs them after `make test`
	.ci/install browser
	.ci/install docker
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $(JOBS) --dist worksteal -m full -rs --durations 40 --durations-min 10

real: .venv/.real ## play with a small model on a real server, in every place where a model can be
	$(BIN)/python tests/real/play.py

tables: .venv/.dev ## write the tables of plug-ins in docs/ anew, from the plug-ins
	$(BIN)/python docs/make_tables.py

pictures: .venv/.dev ## make the pictures of README and docs anew, from the pages that they show
	.ci/install browser
	$(BIN)/python docs/make_pictures.py

proof: .venv/.dev ## all tests at the stated sizes: every case, large worlds; takes hours
	SIMTRAIN_FULL=1 $(BIN)/pytest -n $(JOBS) --dist worksteal -o faulthandler_timeout=36000 -m "full or not full"

lint: .venv/.dev ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/.dev ## rewrite the code in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.dev ## types, pyright strict
	$(BIN)/pyright --pythonpath $(BIN)/python

imports: .venv/.dev ## import rules
	$(BIN)/lint-imports --no-cache

spelling: .venv/.dev ## spelling; tests misspell some words on purpose
	git ls-files -z --cached --others --exclude-standard ':!tests' | xargs -0 $(BIN)/codespell
	git ls-files -z --cached --others --exclude-standard tests | xargs -0 $(BIN)/codespell --ignore-words tests/support/misspelt.txt

hooks: .venv/.dev ## have git run these checks on what is committed
	$(BIN)/pre-commit install

coverage: .venv/.dev ## lines that the tests of `make test` run, by folder; TESTS=tests/cli/test_cli.py runs some of them
	rm -f .coverage .coverage.*
	-$(BIN)/coverage run -m pytest -n $(JOBS) $(TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage json --quiet -o .coverage.json
	$(BIN)/python tests/support/coverage_table.py .coverage.json

bench: .venv/.dev ## speed and memory; refuses a docs page with figures that it did not measure
	rm -f benchmarks/figures.json
	for file in benchmarks/bench_*.py; do $(BIN)/python "$$file" --record benchmarks/figures.json || exit 1; done
	$(BIN)/python benchmarks/change.py
	$(BIN)/python benchmarks/figures_page.py
	$(BIN)/python benchmarks/page.py

bench-keep: .venv/.dev ## record the last `make bench` as what later ones are compared with
	$(BIN)/python benchmarks/change.py --keep

peers: .venv/.dev ## CPU of a tool call in verifiers, inspect_ai, LangChain and here; makes their environments, 1.2 GB, in benchmarks/peers/.venvs
	$(BIN)/python benchmarks/peers/compare.py $(PEERS)

fuzz: .venv/.dev ## 1,500 hostile inputs: no traceback, no hang, no more than 1 GiB; takes a few minutes
	$(BIN)/python -m tests.fuzz.run

sequences: .venv/.dev ## 300 random sequences of actions in the apps, in the engine and in Chromium alike; takes an hour
	.ci/install browser
	SIMTRAIN_FULL=1 $(BIN)/pytest -n $(JOBS) -m full -k random_actions tests/view/test_app_site.py

mutants: .venv/.dev ## how many of 150 mutants the tests kill; takes most of an hour
	$(BIN)/python tests/mutation/sample.py

words: .venv/.dev ## make the filter of real words anew, from the lists of the libraries installed
	$(BIN)/python -m simtrain.validation.search_worlds.collect_real_words

wheel: .venv/.core ## build dist/*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

release-check: .venv/.core ## build wheel and sdist, install the wheel into a fresh environment elsewhere, and play with it
	$(BIN)/python .ci/release_check.py

clean: ## remove what these targets made
	rm -rf .venv dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.* benchmarks/peers/.venvs

.venv/.core: pyproject.toml constraints.txt
	@sh .ci/install core "$(PYTHON)"
	@touch $@

.venv/.dev: .venv/.core
	@sh .ci/install dev "$(PYTHON)"
	@touch $@

.venv/.real: .venv/.dev
	@sh .ci/install real "$(PYTHON)"
	@touch $@

.venv/.train: .venv/.dev
	@sh .ci/install train "$(PYTHON)"
	@touch $@

.venv/.harbor: .venv/.core .ci/harbor.txt
	@sh .ci/install harbor "$(PYTHON)"
	@touch $@
