//! Simulated experiments: the starts made, and the conclusions.

mod course;
mod fixtures;
#[path = "../../examples/simulate/scenario.rs"]
#[allow(dead_code, reason = "shared with the example that prints the table")]
mod scenario;
mod truths;
mod verdicts;
