# The few commands. Everything is built one way (release, static), so that what is tested is what ships.
TARGET := $(shell rustc -vV | sed -n 's/^host: //p')
BIN := target/$(TARGET)/release/torment
PAGE := crates/page/ui/dist/index.html
PAGE_SOURCES := $(shell find crates/page/ui \( -name node_modules -o -name dist -o -name tests \) -prune -o -type f -print)

.PHONY: demo build page test prepared built check dist truths bench bench-probes manual

demo: build ## Build, then find the limit of the built-in service.
	$(BIN) find demo

build: page
	cargo build --release -p torment-cli

page: $(PAGE) ## The page, by npm, to be put into the binary; without npm or a network that holds a few words instead.

$(PAGE): $(PAGE_SOURCES)
	@crates/page/build-ui.sh

test: ## Everything, with a real PostgreSQL and nginx; installs them when root, says what is missing otherwise.
	$(MAKE) -j2 prepared built
	$(MAKE) page
	cargo test --release --workspace --no-fail-fast
	./tests/targets.sh $(BIN)
	./crates/page/tests/browser/run.sh $(BIN)

# Side by side: the one waits for the network, the other for the compiler.
prepared:
	./tests/prepare.sh

built: page
	cargo test --release --workspace --no-run

check: ## Format, lints, dependency rules.
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	./tests/deny.sh

truths: ## The table of docs/method/search.md: the search against simulated systems of known capacity.
	cargo run --release -p torment-search --example truths -- --seeds 200

bench: build ## Ours beside the other load generators installed: the tables of docs/method/engine.md. BENCH='--only a,b' measures a part.
	cargo bench -p torment-bench --bench bench -- $(BENCH)

bench-probes: build ## torment's probes beside reference programs, in pairs: the tables of docs/method/probe.md. PROBES='--only launch' measures a part.
	cargo run --release -p torment-bench -- probes $(PROBES)

manual: ## The manual as a book, in target/book.
	@command -v mdbook >/dev/null || { echo "no mdbook; get it: cargo install mdbook --locked. The pages can be read as they are, in docs/" >&2; exit 1; }
	mdbook build
	@echo "open target/book/index.html"

dist: build ## The static binary with completions, man page and licences, in dist/.
	rm -rf dist && mkdir -p dist
	cp $(BIN) LICENSE-MIT LICENSE-APACHE README.md dist/
	$(BIN) man > dist/torment.1
	for shell in bash zsh fish; do $(BIN) completions $$shell > dist/torment.$$shell; done
	tar -C dist -czf torment-$(TARGET).tar.gz . && mv torment-$(TARGET).tar.gz dist/
