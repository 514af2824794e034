# Each target is a few lines that call real tools. `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PXNET_CACHE ?= $(HOME)/.cache/pxnet
UV_VERSION := 0.13.9
UV := $(PXNET_CACHE)/uv-$(UV_VERSION)/bin/uv
LOCK = $(UV) pip compile -q pyproject.toml --universal --generate-hashes --no-header --no-annotate
PY := .venv/bin/python
RUNTIME := .venv/runtime
export PXNET_CACHE
export UV_PYTHON_DOWNLOADS := never
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif

.PHONY: help demo test able unit check bench bed generate verify lock clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/ready ## bring two tenants' clusters up on real parts and watch them get addresses (--keep: DEMO_FLAGS=--keep)
	$(PY) -m e2e.demo $(DEMO_FLAGS)

test: able check verify unit ## everything that must pass: check, verify, unit, then the API server, attacks and the whole bed
	env -u KUBECONFIG $(PY) -m pytest tests/api tests/attacks e2e/stories

# Before anything that takes minutes: demo, bed and bench look by themselves.
able: .venv/ready
	@$(PY) -m e2e.bed check

unit: .venv/ready ## the fast tests: no API server, no network
	$(PY) -m pytest tests/unit tests/golden tests/flow

check: .venv/ready ## lint, types, import rules, spelling, file lengths
	.venv/bin/ruff check . && .venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/codespell
	$(PY) -m tests.house

bench: .venv/ready ## measure against a bare writer and the in-cluster provider: build/bench.json (BENCH=claims or admission: these alone)
	$(PY) -m e2e.bench $(BENCH)

bed: .venv/ready ## leave a test bed running and print how to reach it (BED_FLAGS=--light: control plane alone)
	$(PY) -m e2e.bed up $(BED_FLAGS)

generate: .venv/ready ## write what is generated: CRDs, RBAC, component files
	$(PY) -m config.generate

verify: .venv/ready ## compare what is generated with the tree
	$(PY) -m config.generate --check

lock: $(UV) ## pin all Python packages by hash, naming no package host, so that any mirror serves
	$(LOCK) --group dev --upgrade -o requirements.lock
	$(LOCK) -c requirements.lock -o runtime.lock

clean: ## remove what was made here (not the cache)
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(UV):
	@command -v python3 >/dev/null || { echo "python3 is not on PATH: install Python 3.11 or newer, with venv (Debian: python3-venv)" >&2; exit 1; }
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, python3 is " + sys.version.split()[0])'
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { echo "python3 has no venv: install it (Debian: python3-venv)" >&2; exit 1; }
	python3 -m venv $(PXNET_CACHE)/uv-$(UV_VERSION)
	$(PXNET_CACHE)/uv-$(UV_VERSION)/bin/pip install -q --disable-pip-version-check uv==$(UV_VERSION)

# Beside it the packages that an image holds: what is shipped runs with these alone.
.venv/ready: requirements.lock runtime.lock | $(UV)
	$(UV) venv -q --allow-existing --python python3 .venv
	$(UV) pip sync -q --python $(PY) --require-hashes requirements.lock
	$(UV) pip install -q --python $(PY) --no-deps -e .
	$(UV) venv -q --allow-existing --python python3 $(RUNTIME)
	$(UV) pip sync -q --python $(RUNTIME)/bin/python --require-hashes runtime.lock
	$(UV) pip install -q --python $(RUNTIME)/bin/python --no-deps -e .
	touch $@
