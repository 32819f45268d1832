#!/bin/sh
# Licences, sources and duplicate bans of all dependencies. Advisories need a database from the
# network: `cargo deny check advisories` where there is one.
set -eu
command -v cargo-deny >/dev/null 2>&1 || cargo install --locked --quiet --debug cargo-deny --target-dir target/cargo-deny
cargo deny --all-features check bans licenses sources
