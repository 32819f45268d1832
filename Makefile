# The few commands. Everything is built one way (release, static), so that what is tested is what ships.
TARGET := $(shell rustc -vV | sed -n 's/^host: //p')
BIN := target/$(TARGET)/release/torment

.PHONY: demo build test check dist truths bench

demo: build ## Build, then find the limit of the built-in service.
	$(BIN) find demo

build:
	cargo build --release -p torment-cli

test: ## Everything, with a real PostgreSQL and nginx; installs them when root, says what is missing otherwise.
	./tests/prepare.sh
	cargo test --release --workspace --no-fail-fast
	./tests/targets.sh $(BIN)

check: ## Format, lints, dependency rules.
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	./tests/deny.sh

truths: ## The table of docs/method/search.md: the search against simulated systems of known capacity.
	cargo run --release -p torment-search --example truths -- --seeds 200

bench: build ## Ours beside the other load generators installed: the tables of docs/method/engine.md. BENCH='--only a,b' measures a part.
	cargo bench -p torment-bench --bench bench -- $(BENCH)

dist: build ## The static binary with completions, man page and licences, in dist/.
	rm -rf dist && mkdir -p dist
	cp $(BIN) LICENSE-MIT LICENSE-APACHE README.md dist/
	$(BIN) man > dist/torment.1
	for shell in bash zsh fish; do $(BIN) completions $$shell > dist/torment.$$shell; done
	tar -C dist -czf torment-$(TARGET).tar.gz . && mv torment-$(TARGET).tar.gz dist/
