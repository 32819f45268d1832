//! Raw system calls: clocks, socket options, limits. The only crate with `unsafe`; each such block
//! says why it is sound. Whatever rustix wraps safely is called through rustix, here or elsewhere.

mod clock;
mod limits;
mod socket;

pub use clock::{monotonic_ns, thread_cpu_ns};
pub use limits::raise_nofile;
pub use socket::bind_address_no_port;
