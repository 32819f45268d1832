//! Raw system calls: clocks, socket options, limits, processors. The only crate with `unsafe`; each such block
//! says why it is sound. Whatever rustix wraps safely is called through rustix, here or elsewhere.

mod clock;
mod limits;
mod processors;
mod socket;

pub use clock::{monotonic_ns, thread_cpu_ns};
pub use limits::raise_nofile;
pub use processors::{check_processors, run_on};
pub use socket::bind_address_no_port;
