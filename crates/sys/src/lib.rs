//! Raw system calls: clocks, sockets, limits, tables of descriptors, processors, priorities, the memory and the
//! calls of other processes. The only crate with `unsafe`; each such block
//! says why it is sound. Whatever rustix wraps safely is called through rustix, here or elsewhere. And the one service of the C library
//! that a static program must not ask for: the addresses of a name.

mod alarm;
mod arrival;
mod behind;
mod call_names;
mod calls;
mod clock;
mod condition;
mod crowd;
mod descriptors;
mod limits;
mod mapping;
mod memory;
mod names;
mod partner;
mod perf;
mod priority;
mod processors;
mod ptrace;
mod reap;
mod ring;
mod shared;
mod socket;
mod start;
pub mod task;
mod ticks;
mod usage;

pub use alarm::Alarm;
pub use arrival::{recv_stamped, stamp_arrivals};
pub use behind::stay_behind;
pub use call_names::{call_name, call_number};
pub use calls::{Call, call};
pub use clock::{monotonic_ns, now, thread_cpu_ns};
pub use condition::{Condition, ConditionGuard};
pub use crowd::{Crowd, map_stack, take_maps};
pub use descriptors::own_descriptors;
pub use limits::{DESCRIPTORS_LEAST, raise_nofile};
pub use mapping::Mapping;
pub use memory::{read_memory, read_memory_pieces};
pub use names::address;
pub use partner::Partner;
pub use perf::{RawSample, SampleEvent, SampleForm, SampleRing, SampledTask};
pub use priority::{real_time, short_slice};
pub use processors::{Allowed, check_processors, move_to, run_on};
pub use ptrace::{
    ARCHITECTURE, Resume, Stopped, SyscallSide, SyscallStop, bind_traced, follow_traced, place_of_traced,
    resume_traced, started_by_traced, traced, wait_traced,
};
pub use reap::{Reaped, reap};
pub use ring::Reads;
pub use shared::Shared;
pub use socket::{bind_address_no_port, local_ports};
pub use start::before_exec;
pub use ticks::Ticks;
pub use usage::{Usage, UsageOf, usage};
