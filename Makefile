# Everything here starts from a Python 3.11 or newer alone: no root, nothing else installed.
#
#   make demo           everything up on this machine, until Ctrl-C        (ONCE=1: one reset, then exit)
#   make check          lint, types, import contracts, bandit, Django's checks, missing migrations
#   make test           check, then the whole suite on SQLite and PostgreSQL, then the newest versions; audit
#   make audit          look the locked packages up in an advisory database; says so where it cannot
#   make lock           compute the hash-pinned requirements anew
#   make bench-boundaries  inline, poller and broker compared: the table of docs/boundaries.md (8 minutes)
#   make bench-capacity  the capacity model beside the real thing: the table of docs/capacity.md (6 minutes)
#   make clean          remove what the targets above made

.POSIX:
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help demo check audit test test-sqlite test-postgres test-latest run-latest has-latest lock \
	bench-boundaries bench-capacity clean

LOCKS := ops/requirements
VENV := .venv
LATEST := .venv-latest
PYTHON := $(VENV)/bin/python
# Test processes at a time. Each has a database of its own, and one file's tests stay together.
JOBS ?= 2
SHARE := -n $(JOBS) --dist loadfile
FIND := $(LOCKS)/find-python 3.11 python3.13 python3.12 python3.11 python3
FIND_LATEST := $(LOCKS)/find-python 3.13 python3.13 "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.13*/bin/python3.13

help:
	@sed -n 's/^#   //p' Makefile

demo: $(VENV)/installed.txt
	@$(PYTHON) -m examples.demo $(if $(ONCE),--once) $(DEMO)

check: $(VENV)/installed.txt
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/bandit -q -c pyproject.toml -r config resetdelivery notifications
	$(PYTHON) manage.py check --fail-level WARNING
	$(PYTHON) manage.py makemigrations --check --dry-run

audit: $(VENV)/installed.txt
	@$(PYTHON) ops/audit.py $(LOCKS)/*.txt

# PostgreSQL comes last, so that the closing lines of a whole run are a test runner's; what the audit could not
# do is among them.
test: export AUDIT_NOTE = build/audit.txt
test: check test-sqlite test-latest audit test-postgres

test-sqlite: $(VENV)/installed.txt
	TEST_DATABASE=sqlite $(PYTHON) -m pytest $(SHARE) $(PYTEST)

# Without the tests that use no database: the pass on SQLite has run them.
test-postgres: $(VENV)/installed.txt
	TEST_DATABASE=postgres $(PYTHON) -m pytest -p tests.audit_note --only-database $(SHARE) $(PYTEST)

# Python 3.13 with Django 6.1, without the tests that start whole programs.
test-latest:
	@if python=$$($(FIND_LATEST)); then \
	    $(MAKE) --no-print-directory run-latest LATEST_PYTHON="$$python"; \
	else \
	    echo "SKIPPED 1 pass of 3: no python3.13 runs here, so Python 3.13 with Django 6.1 was not tested."; \
	fi

run-latest: $(LATEST)/installed.txt
	TEST_DATABASE=sqlite $(LATEST)/bin/python -m pytest --ignore=tests/acceptance $(SHARE) $(PYTEST)

has-latest:
	@$(FIND_LATEST) >/dev/null

$(VENV)/installed.txt: $(LOCKS)/django52.txt
	@python=$$($(FIND)) || { \
	    echo "No Python 3.11 or newer with venv and ensurepip was found on PATH (tried python3.13 to python3)." >&2; \
	    exit 1; \
	}; \
	$(LOCKS)/install $(VENV) $(LOCKS)/django52.txt "$$python"

$(LATEST)/installed.txt: $(LOCKS)/django61-py313.txt
	@$(LOCKS)/install $(LATEST) $(LOCKS)/django61-py313.txt "$(LATEST_PYTHON)"

COMPILE := .venv-lock/bin/uv --no-config pip compile --quiet --upgrade --all-extras --universal \
	--generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make lock"

lock: .venv-lock/bin/uv
	echo 'django<6' | $(COMPILE) --python-version 3.11 --constraint - -o $(LOCKS)/django52.txt pyproject.toml
	echo 'django>=6.1' | $(COMPILE) --python-version 3.13 --constraint - -o $(LOCKS)/django61-py313.txt pyproject.toml

.venv-lock/bin/uv:
	python3 -m venv .venv-lock
	.venv-lock/bin/python -m pip -qq --disable-pip-version-check install 'uv>=0.9'

# Of use only where nothing else runs; BENCH takes options, such as BENCH="--rounds 1".
bench-boundaries: $(VENV)/installed.txt
	@$(PYTHON) -m bench.boundaries --docs $(BENCH)

bench-capacity: $(VENV)/installed.txt
	@$(PYTHON) -m bench.capacity --docs $(BENCH)

clean:
	rm -rf $(VENV) $(LATEST) .venv-lock .demo build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
