//! Raw system calls: clocks, sockets, limits, descriptor tables, processors, priorities, and other processes'
//! memory and calls. The only crate with `unsafe`; each such block says why it is sound. Whatever rustix wraps
//! safely is called through rustix, here or elsewhere. Also resolves host names, the one C library service that
//! a static program must not use.

mod alarm;
mod child_setup;
mod clock;
mod condition;
mod descriptors;
mod errors;
mod forked_child;
mod idle_threads;
mod limits;
mod low_priority;
mod mapping;
mod memory;
mod perf;
mod priority;
mod processors;
mod ptrace;
mod reap;
mod receive_time;
mod resolver;
mod shared_memory;
mod socket;
mod syscall_kind;
mod syscall_names;
pub mod task;
mod ticks;
mod uring;
mod usage;
mod with_parent;

pub use alarm::Alarm;
pub use child_setup::configure_child;
pub use clock::{clock_ns, monotonic_ns, now, thread_cpu_ns};
pub use condition::{Condition, ConditionGuard};
pub use descriptors::unshare_descriptors;
pub use forked_child::ForkedChild;
pub use idle_threads::{IdleThreads, occupy_maps, try_map_stack};
pub use limits::{DESCRIPTORS_LEAST, raise_nofile};
pub use low_priority::lower_priority;
pub use mapping::AnonymousMapping;
pub use memory::{read_memory, read_memory_pieces};
pub use perf::{RawSample, SampleConfig, SampleEvent, SampleRing, SampledTask};
pub use priority::{set_real_time, set_short_slice};
pub use processors::{CpuAffinity, bind_to, check_processors, move_to};
pub use ptrace::{
    ARCHITECTURE, ResumeMode, SyscallInfo, SyscallSide, TraceeEvent, child_of_tracee, follow_children,
    kill_with_tracer, resume_tracee, syscall_info, trace_on_start, wait_tracee,
};
pub use reap::{ChildExit, reap};
pub use receive_time::{enable_receive_timestamps, recv_with_age};
pub use resolver::resolve_host;
pub use shared_memory::SharedMemory;
pub use socket::{bind_address_no_port, ephemeral_port_count};
pub use syscall_kind::{SyscallKind, syscall_kind};
pub use syscall_names::{syscall_name, syscall_number};
pub use ticks::Ticks;
pub use uring::UringReads;
pub use usage::{ResourceUsage, UsageScope, usage};
