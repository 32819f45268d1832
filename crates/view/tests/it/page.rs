//! A run's page, from its events. `BLESS=1 cargo test -p torment-view` rewrites the golden documents; read the diff before keeping
//! it.

#[allow(dead_code, reason = "other tests make other runs")]
mod experiment;
mod first_screen;
mod freezes;
mod incomplete_runs;
mod load;
mod machine;
mod names;
mod rows;
mod search;
mod support;
