# Two commands do everything, set-up included: `make run` and `make test`.

PYTHON ?= python3
BIN := .venv/bin
export CARGO_NET_RETRY ?= 5
# Tests start some hundred processes; without bytecode each of them compiles every module.
unexport PYTHONDONTWRITEBYTECODE

# The sources of the extension; a change to any of these builds it anew.
RUST_SOURCES := $(shell find rust -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

CONSOLE := server/tidegate_server/console/assets/index.html
CONSOLE_SOURCES := $(shell find console -path console/node_modules -prune -o -type f -print) tools/console.py

.PHONY: run cluster cluster-test simulate console console-if-possible test test-all samples-test programs \
	built-and-rust-tested rust-tests kill-test counts-test restart-test restore-test damage-test \
	attack fuzz-api hostile-test newcomer-test check agree bench conformance sizes wheels docs extension \
	docs-serve clean

run: .venv/built console-if-possible ## serve a demonstration, with a key and calls to try; stop with Ctrl-C
	$(BIN)/tidegate serve --demo

cluster: .venv/built       ## three nodes over a database pair, with calls that each answers; stop with Ctrl-C
	$(BIN)/python -m tools.cluster

PYTEST := $(BIN)/python -m pytest --numprocesses=3 --dist=loadfile --no-loadscope-reorder

test: built-and-rust-tested ## the tests of Rust, the library and the service, and a smoke of real processes
	$(PYTEST) --bare

test-all: programs built-and-rust-tested console .venv-docs/installed ## every test; says first which programs it needs
	$(PYTEST)

samples-test: .venv/built  ## every test that reads data, with the samples of the repository alone
	SAMPLES_ALONE=1 $(PYTEST) --reading-data

programs:                  ## which programs `make test-all` needs, and how to install those that are missing
	@$(PYTHON) tests/tiers/programs.py

# Cargo compiles the tests while pip and maturin work.
built-and-rust-tested:
	$(MAKE) --no-print-directory --jobs=2 rust-tests .venv/built

console: $(CONSOLE)        ## the console, built into the package

console-if-possible: .venv/installed
	@$(MAKE) --no-print-directory console || echo "serving without the console"

$(CONSOLE): .venv/installed $(CONSOLE_SOURCES)
	$(BIN)/python tools/console.py

# They take neither Python nor the extension. Cargo counts its jobs itself, not with make.
rust-tests:                ## the tests of the engine alone
	MAKEFLAGS= cargo test --workspace --exclude tidegate-python --locked --quiet

kill-test: .venv/built     ## 200 kills of a server under load; nothing acknowledged may be lost
	$(BIN)/python -m tests.faults.kill --cycles 200
	$(BIN)/python -m tests.faults.kill --cycles 200 --workers 4

attack: .venv/built        ## what a hostile tenant or a stranger can do to the others; 1 where a bound does not hold
	$(BIN)/python -m tests.attack
	$(BIN)/python -m tests.hybrid.enforcement --hostile 600
	$(BIN)/python -m tests.integrations.differential
	$(BIN)/python -m tests.service.readable --events 10000
	$(BIN)/python -m pytest -q tests/evaluation/test_secret_places.py tests/service/hostile/test_marked_places.py

counts-test: .venv/built   ## all traffic through a server; each place that counts has the same numbers
	$(BIN)/python -m benchmarks.counts

SEEDS ?= 20000
simulate: .venv/built      ## the logic of a cluster, a schedule of faults for each of SEEDS seeds
	$(BIN)/python -m tests.simulation --seeds $(SEEDS)

restart-test: .venv/built  ## 50 takeovers under load; windows and keys go on, nothing is answered by two
	$(BIN)/python -m tests.faults.restart --cycles 50

cluster-test: .venv/built   ## 30 faults of three nodes and their database under load; nothing lost, nothing twice
	$(BIN)/python -m tests.cluster --faults 30

restore-test: .venv/built   ## PostgreSQL goes back to 20 random moments; the service goes on from each
	$(BIN)/python -m tests.postgresql.restoring --moments 20

hybrid-test: .venv/built   ## 100 schedules of faults between a daemon and its service
	$(BIN)/python -m tests.hybrid.schedules --count 100

damage-test: .venv/built   ## 500 damages to what a kill left; none may be silent
	$(BIN)/python -m tests.faults.damage --cases 500

hostile-test: .venv/built console ## every hostile address, cookie and text through page, browser, integrations and interface
	EVERY_LINE=1 $(BIN)/python -m pytest -q tests/server/challenges/test_pages.py \
		tests/server/challenges/test_visit.py tests/integrations/test_hostile.py \
		tests/service/hostile/test_hostile_input.py

fuzz-api: .venv/built      ## schemathesis, 500 examples of every operation of the interface
	$(BIN)/python tests/service/api_fuzzing.py --examples 500

newcomer-test: .venv/built ## what the pages say to type, from a wheel and from a clone, with nothing there before
	$(BIN)/python -m tests.newcomer

check: .venv/built         ## formatting, lint, types
	cargo fmt --all --check
	cargo fmt --manifest-path benchmarks/native/Cargo.toml --check
	cargo clippy --workspace --all-targets --all-features --locked --quiet -- -D warnings
	cargo clippy --manifest-path benchmarks/native/Cargo.toml --target-dir target \
		--all-features --locked --quiet -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest tidegate._native
	$(BIN)/deptry python
	$(BIN)/deptry server --config server/pyproject.toml
	$(BIN)/python tools/console.py --check
	$(BIN)/python tools/notices.py --check
	@if ! cargo deny --version >/dev/null 2>&1; then \
		echo "cargo deny is not installed: cargo install --locked cargo-deny"; \
	elif cargo deny --locked fetch db; then cargo deny --locked check; \
	else cargo deny --locked check bans licenses sources && \
		echo "the database of advisories cannot be reached: nothing was looked up in it"; fi

docs: .venv/built .venv-docs/installed ## the documentation as a site: target/site/html/index.html
	$(BIN)/python -m tools.site.pages
	cd target/site && ../../.venv-docs/bin/zensical build --strict -f mkdocs.yml
	$(BIN)/python -m pytest tests/docs/test_search.py

docs-serve: docs           ## the site on http://localhost:8000
	cd target/site && ../../.venv-docs/bin/zensical serve -f mkdocs.yml

.venv-docs/installed: tools/site/requirements.txt
	$(PYTHON) -m venv --clear .venv-docs
	.venv-docs/bin/python -m pip install --no-compile --quiet --disable-pip-version-check -r $<
	touch $@

extension:                 ## the extension for VS Code, packaged: target/tidegate-VERSION.vsix
	mkdir -p target
	cd editors/vscode && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npm run --silent package

wheels: .venv/installed console ## both wheels; that of the library for manylinux_2_28, and for musllinux_1_2 where rustup has the target
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang
	$(BIN)/python tools/wheels.py

agree: .venv/built         ## 200,000 generated programs through both evaluators
	$(BIN)/python -m tidegate.testing.agreement --programs 200000

sizes: .venv/installed      ## lines of each part, the largest folders, files and functions
	$(BIN)/python -m benchmarks.sizes

conformance: .venv/built   ## the published cases, one table an evaluator
	$(BIN)/python -m tidegate.testing.conformance ../shared/conformance/cel

bench: .venv/peers         ## every benchmark, and the peers side by side
	$(BIN)/python -m pytest benchmarks -o python_files='bench_*.py' --benchmark-only --benchmark-columns=min,median,iqr,rounds
	$(BIN)/python -m benchmarks.peers

clean:
	rm -rf .venv .venv-console .venv-docs target console/node_modules \
		server/tidegate_server/console/assets server/tidegate_server/routing/swagger_ui

.venv/installed: pyproject.toml server/pyproject.toml requirements-dev.txt
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

.venv/peers: .venv/built benchmarks/peers/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt
	touch $@

.venv/built: .venv/installed $(RUST_SOURCES)
	VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/maturin develop --release --locked --quiet
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable server
	touch $@
