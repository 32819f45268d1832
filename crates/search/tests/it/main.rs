//! Searches of simulated systems with known capacity.

mod course;
#[path = "../../examples/truths/noise.rs"]
mod noise;
#[path = "../../examples/truths/rows.rs"]
mod rows;
#[path = "../../examples/truths/simulate.rs"]
#[allow(dead_code, reason = "shared with the example that prints the table")]
mod simulate;
#[path = "../../examples/truths/system.rs"]
mod system;
#[path = "../../examples/truths/table.rs"]
#[allow(dead_code, reason = "shared with the example that prints the table")]
mod table;
mod truths;
