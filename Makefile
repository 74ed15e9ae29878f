# Headlight. Each target sets up what it needs by itself, on any machine with Python 3.11+ and make.
# Stamps in .venv remember what is installed, so a second call costs seconds. To start afresh, delete .venv.
.PHONY: run test test-all mutants check docs bench
.DELETE_ON_ERROR:

PYTHON := .venv/bin/python
NODE := .venv/bin/node
# Python compiles what it imports; compiling everything that is installed takes longer than installing it.
PIP := $(PYTHON) -m pip install --disable-pip-version-check --no-compile
# Python keeps what it compiled, whatever the machine says: without that each of the many processes of the tests begins late.
export PYTHONDONTWRITEBYTECODE :=
# So does Node.js: each of its tests is a process that reads the same libraries.
export NODE_COMPILE_CACHE := $(CURDIR)/.venv/node-compiled

# A .venv whose Python is missing or gone (half made, or Python was upgraded) is made anew.
$(shell test -x $(PYTHON) || rm -rf .venv)

# Opens the app in the browser; where there is no display, prints its address.
run: .venv/app.stamp
	$(PYTHON) -m streamlit run app.py

# All tests: those of the JavaScript, then those of Python and of the pages in a browser, side by side.
test: .venv/dev.stamp .venv/node.stamp
	$(PYTHON) -m tests.e2e.browser
	$(NODE) --test --test-concurrency=2 "tests/**/*.test.js"
	$(PYTHON) -m pytest -n auto --dist worksteal $(PYTEST_OPTIONS)

# The same with the tests that try every combination, where the others try each value once; for a release.
test-all:
	$(MAKE) test PYTEST_OPTIONS=--full

# Plants faults in a copy, one at a time, and runs the tests that should catch each; for a release.
mutants: .venv/dev.stamp .venv/node.stamp
	$(PYTHON) -m tests.mutants --jobs 2

# Linters, formatting, types, the project's own lints, and the links of the documentation.
CHECKS := check-mypy check-eslint check-tsc check-tsc-kit check-ruff check-own check-docs
.PHONY: $(CHECKS)
check: .venv/dev.stamp .venv/node.stamp
	@$(MAKE) --no-print-directory --jobs=2 $(CHECKS)
check-mypy:
	$(PYTHON) -m mypy
check-eslint:
	$(NODE) node_modules/eslint/bin/eslint.js
check-tsc:
	$(NODE) node_modules/typescript/bin/tsc --project .
check-tsc-kit:
	$(NODE) node_modules/typescript/bin/tsc --project pages/components/kit
check-ruff:
	$(PYTHON) -m ruff check
	$(PYTHON) -m ruff format --check
check-own:
	$(PYTHON) -m tests.lints
check-docs:
	$(PYTHON) -m properdocs build --strict --site-dir .venv/site

# Builds the documentation and the API reference; open site/index.html.
docs: .venv/dev.stamp
	$(PYTHON) -m properdocs build --strict
	$(PYTHON) -m tests.docs.api site/api

# Measures, and prints tables; asserts nothing about time.
bench: .venv/bench.stamp
	$(PYTHON) -m tests.e2e.browser
	$(PYTHON) -m tests.benchmarks

.venv/pyvenv.cfg:
	@for python in python3 python3.14 python3.13 python3.12 python3.11; do \
		if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "Making .venv with $$("$$python" --version)."; \
			exec "$$python" -m venv --clear .venv; \
		fi; \
	done; \
	echo "Headlight needs Python 3.11 or newer with its venv module; please install it and run make again."; \
	exit 1

.venv/app.stamp: requirements.txt constraints.txt .venv/pyvenv.cfg
	@echo "Installing what the app needs. The first time this takes some minutes."
	$(PIP) -r requirements.txt -c constraints.txt
	@touch $@

.venv/dev.stamp: requirements-dev.txt .venv/app.stamp
	@echo "Installing what the tests and checks need."
	$(PIP) -r requirements-dev.txt -c constraints.txt
	@touch $@

.venv/node.stamp: package-lock.json .venv/dev.stamp
	@echo "Installing what checks the JavaScript."
	.venv/bin/npm ci --no-audit --no-fund
	@touch $@

.venv/bench.stamp: requirements-bench.txt .venv/dev.stamp
	@echo "Installing the peers that we measure against."
	$(PIP) -r requirements-bench.txt
	@touch $@
