# Genoma. `make run` and `make test` set up all they need, from nothing, as often as you like.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

UV_PIN := 0.13.9
UV_AT_LEAST := 0.9
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
CHROMIUM := /usr/bin/chromium

# No interpreter is fetched: Genoma runs on the Python of the machine.
export UV_PYTHON_DOWNLOADS := never
# The certificates that the machine trusts count, also behind a company's proxy.
export UV_SYSTEM_CERTS := true
# Small models are quicker on one thread each than on all cores at once.
export OMP_NUM_THREADS ?= 1

# A uv that is there and new enough for uv.lock, else our own under .uv/.
UV := $(shell v=$$(uv --version 2>/dev/null | cut -d' ' -f2) && [ -n "$$v" ] \
	&& [ "$$(printf '%s\n' $(UV_AT_LEAST) "$$v" | sort -V | head -n 1)" = $(UV_AT_LEAST) ] \
	&& command -v uv || echo .uv/bin/uv)

# $(call install,PACKAGE): from Debian where we may, else say what is missing.
install = { test "$$(id -u)" = 0 && command -v apt-get >/dev/null || { \
	echo "The package $(1) is missing: install it and try again." >&2; exit 1; }; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends $(1); }

.NOTPARALLEL:
.PHONY: help run test lint types contracts unit e2e soak fmt sync sync-dev browser

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' \
		| while IFS=$$'\t' read -r goal what; do printf '  make %-10s %s\n' "$$goal" "$$what"; done

run: sync ## Start the lab on http://127.0.0.1:8000/ (Ctrl-C stops it)
	@exec $(BIN)/genoma run

test: sync-dev browser ## Check everything: lint, types, contracts, all tests, a real browser
	@$(MAKE) lint types contracts
	@$(BIN)/pytest --durations=10

lint: sync-dev ## Check style and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: sync-dev ## Check types
	@$(BIN)/mypy

contracts: sync-dev ## Check who may import whom
	@$(BIN)/lint-imports

unit: sync-dev ## Run the tests that need no database and no browser
	@$(BIN)/pytest tests/unit

e2e: sync-dev browser ## Run the tests in a real browser
	@$(BIN)/pytest -m e2e

soak: sync-dev browser ## Run all tests, with twenty times the drawn examples
	@$(BIN)/pytest --durations=10 --hypothesis-profile=soak

fmt: sync-dev ## Put the code into its format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# `--inexact`: a start of the lab takes nothing away that the tests brought.
sync: $(UV)
	@$(UV) sync --quiet --frozen --inexact --no-dev --extra local

sync-dev: $(UV)
	@$(UV) sync --quiet --frozen --all-extras

.uv/bin/uv:
	@test -n "$(PYTHON)" || { echo "Genoma needs Python 3.11 or newer: install python3." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip' 2>/dev/null || $(call install,python3-venv)
	@"$(PYTHON)" -m venv .uv
	@.uv/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_PIN)

browser:
	@test -x $(CHROMIUM) || $(call install,chromium)
