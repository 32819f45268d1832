//! Reports on C library functions and on what a program is made of.

mod binary;
mod call;
mod call_json;

pub use binary::{binary_json, binary_lines, script_json, script_lines};
pub use call::call_lines;
pub use call_json::call_json;

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
