//! Raw system calls: clocks, sockets, limits, tables of descriptors, processors, priorities, the memory and the
//! calls of other processes. The only crate with `unsafe`; each such block
//! says why it is sound. Whatever rustix wraps safely is called through rustix, here or elsewhere.

mod arrival;
mod calls;
mod clock;
mod descriptors;
mod limits;
mod memory;
mod priority;
mod processors;
mod socket;
mod start;

pub use arrival::{recv_stamped, stamp_arrivals};
pub use calls::{Call, call};
pub use clock::{monotonic_ns, thread_cpu_ns};
pub use descriptors::own_descriptors;
pub use limits::raise_nofile;
pub use memory::read_memory;
pub use priority::real_time;
pub use processors::{check_processors, run_on};
pub use socket::bind_address_no_port;
pub use start::before_exec;
