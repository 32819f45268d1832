# The few commands. What is tested is compiled with overflow checks and debug assertions (dev); what ships, for speed and size (dist).
TARGET := $(shell rustc -vV | sed -n 's/^host: //p')
BIN := target/$(TARGET)/debug/torment
SHIPPED := target/$(TARGET)/dist/torment
# Tests wait most of their time, for loads or for their turn: so many threads.
SIDE_BY_SIDE := 10
# Crates whose integration tests make no load.
UNLOADED := anatomy diagnosis experiment faults import page search store trace tui view
# What is tested, whatever folder a test runs in.
ifdef TORMENT_BIN
export TORMENT_BIN := $(abspath $(TORMENT_BIN))
endif
TESTED := $(or $(TORMENT_BIN),$(BIN))
PAGE := crates/page/ui/dist/index.html
PAGE_SOURCES := $(shell find crates/page/ui \( -name node_modules -o -name dist -o -name tests \) -prune -o -type f -print)

.PHONY: test-vm test-cluster demo build page test targets zoo zoo-cheap browser quick prepared built check dist truths bench bench-probes bench-fleet bench-page manual pictures

demo: page ## Build as for tests, which is quicker than what ships, then find the limit of the built-in service.
	cargo build -p torment-cli
	$(BIN) find demo

build: page ## The static binary as it ships: small, and as fast as it gets.
	cargo build --profile dist -p torment-cli

page: $(PAGE) ## The page, by npm, to be put into the binary; without npm or a network that holds a few words instead.

$(PAGE): $(PAGE_SOURCES)
	@crates/page/build-ui.sh

test: ## Everything, with a real PostgreSQL, nginx and sshd; installs them when root, says what is missing otherwise. TORMENT_BIN=PATH tries another binary.
	$(MAKE) -j2 prepared built
	./tests/run.sh $(SIDE_BY_SIDE) $(UNLOADED)
	$(MAKE) -j3 targets zoo-cheap browser

targets: ## The services in targets/, each started, loaded and ended.
	./tests/targets.sh $(TESTED)

zoo: build ## Services as people run them, each with a known truth: the table of docs/method/zoo.md. ROWS='fails uvicorn' measures some of them.
	./tests/prepare.sh zoo
	./tests/zoo.sh $(SHIPPED) $(ROWS)

test-vm: built ## On another kernel, in a virtual machine: what is found and said there, and a load by ssh between two. Wants qemu; four minutes.
	./tests/vm.sh

test-cluster: built ## Workers in a cluster: a real API server, controllers and scheduler, and nodes without a kubelet. Wants root and go; seven minutes, the first time twice that.
	./tests/cluster.sh

zoo-cheap: ## Five rows of it, in short, which want no quiet machine.
	./tests/zoo.sh $(TESTED) --cheap

browser: ## The page in a real browser.
	./crates/page/tests/browser/run.sh $(TESTED)

quick: page ## What needs no load: two minutes.
	cargo test --workspace --exclude torment-bench --lib --bins
	cargo test --test it -p torment-cli $(addprefix -p torment-,$(UNLOADED)) -- --skip load::

# Side by side: the one waits for the network, the other for the compiler.
prepared:
	./tests/prepare.sh

built: page
	cargo test --workspace --exclude torment-bench --tests --no-run

check: ## Format and lints. Rules for dependencies are tests (crates/torment/tests/it/layers.rs, libraries.rs).
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

truths: ## The table of docs/method/search.md: the search against simulated systems of known capacity.
	cargo run --release -p torment-search --example truths -- --seeds 200

bench: build ## Ours beside the other load generators installed: the tables of docs/method/engine.md. BENCH='--only a,b' measures a part.
	cargo bench --profile dist -p torment-bench --bench bench -- $(BENCH)

bench-probes: build ## torment's probes beside reference programs, in pairs: the tables of docs/method/probe.md. PROBES='--only launch' measures a part.
	cargo run --profile dist -p torment-bench -- probes $(PROBES)

bench-fleet: build ## Searches by fleets on this machine for a limit that is known (docs/fleet.md). FLEET='--kill --seeds 5' tries less, or more.
	cargo run --profile dist -p torment-bench -- fleet $(FLEET)

bench-page: page ## How quick the page is in a browser, beside an empty one. REPORT=FILE.html takes the rows of a report.
	node crates/page/tests/browser/bench.mjs $(REPORT)

manual: ## The manual as a book, in target/book.
	@command -v mdbook >/dev/null || { echo "no mdbook; get it: cargo install mdbook --locked. The pages can be read as they are, in docs/" >&2; exit 1; }
	mdbook build
	@echo "open target/book/index.html"

pictures: page ## The images of the README and the manual, anew: drawn and photographed of the runs in crates/torment/tests/recorded. Wants chromium and npm.
	BLESS=1 cargo test -p torment-cli --test it manual::images -- --include-ignored

dist: build ## The static binary with completions, man page and licences, in dist/.
	rm -rf dist && mkdir -p dist
	cp $(SHIPPED) LICENSE-MIT LICENSE-APACHE README.md dist/
	cp crates/picture/font/OFL.txt dist/LICENSE-FONTS
	$(SHIPPED) man > dist/torment.1
	for shell in bash zsh fish; do $(SHIPPED) completions $$shell > dist/torment.$$shell; done
	tar -C dist -czf torment-$(TARGET).tar.gz . && mv torment-$(TARGET).tar.gz dist/
