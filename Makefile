# Each target installs what it needs, on any machine with Python 3.11+ and make. Stamp files in .venv record what is
# installed, so that later calls start within seconds. To start afresh, delete .venv.
.PHONY: run test test-all mutants check docs bench
.DELETE_ON_ERROR:

PYTHON := .venv/bin/python
NODE := .venv/bin/node
# Python compiles modules when they are imported; compiling all of them takes longer than installing them.
PIP := $(PYTHON) -m pip install --disable-pip-version-check --no-compile
# Python stores compiled modules even if the environment disables that: the tests start many processes.
export PYTHONDONTWRITEBYTECODE :=
# Node.js does so too: each of its tests is a process that loads the same libraries.
export NODE_COMPILE_CACHE := $(CURDIR)/.venv/node-compiled

# Create .venv again if its Python is missing (an interrupted installation, or an upgraded Python).
$(shell test -x $(PYTHON) || rm -rf .venv)

# Open the app in the browser, or print its address if there is no display.
run: .venv/app.stamp
	$(PYTHON) -m streamlit run app.py

# Run all tests: JavaScript first, then Python and the pages in a browser in parallel.
test: .venv/dev.stamp .venv/node.stamp
	$(PYTHON) -m tests.e2e.browser
	$(NODE) --test --test-concurrency=2 "tests/**/*.test.js"
	$(PYTHON) -m pytest -n auto --dist worksteal $(PYTEST_OPTIONS)

# Run all tests with every combination of values, where `make test` covers pairs; for a release.
test-all:
	$(MAKE) test PYTEST_OPTIONS=--full

# Plant faults in a copy, one at a time, and run the tests that should catch each; for a release.
mutants: .venv/dev.stamp .venv/node.stamp
	$(PYTHON) -m tests.mutants --jobs 2

# Check formatting, types, lints, and the links of the documentation.
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

# Build the documentation and the API reference in site/; open site/index.html.
docs: .venv/dev.stamp
	$(PYTHON) -m properdocs build --strict
	$(PYTHON) -m tests.docs.api site/api

# Print benchmark tables; no time is asserted.
bench: .venv/bench.stamp
	$(PYTHON) -m tests.e2e.browser
	$(PYTHON) -m tests.benchmarks

.venv/pyvenv.cfg:
	@for python in python3 python3.14 python3.13 python3.12 python3.11; do \
		if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "Creating .venv with $$("$$python" --version)."; \
			exec "$$python" -m venv --clear .venv; \
		fi; \
	done; \
	echo "Headlight needs Python 3.11 or newer with its venv module; please install it and run make again."; \
	exit 1

.venv/app.stamp: requirements.txt constraints.txt .venv/pyvenv.cfg
	@echo "Installing the packages of the app. The first time, this takes a few minutes."
	$(PIP) -r requirements.txt -c constraints.txt
	@touch $@

.venv/dev.stamp: requirements-dev.txt .venv/app.stamp
	@echo "Installing the packages of the tests and checks."
	$(PIP) -r requirements-dev.txt -c constraints.txt
	@touch $@

.venv/node.stamp: package-lock.json .venv/dev.stamp
	@echo "Installing the packages that check the JavaScript."
	.venv/bin/npm ci --no-audit --no-fund
	@touch $@

.venv/bench.stamp: requirements-bench.txt .venv/dev.stamp
	@echo "Installing the libraries that benchmarks compare with."
	$(PIP) -r requirements-bench.txt
	@touch $@
