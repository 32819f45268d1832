//! A run's page, from its events. `TORMENT_BLESS=1 cargo test -p torment-view` writes the golden documents anew; read the
//! difference before you keep it.

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
