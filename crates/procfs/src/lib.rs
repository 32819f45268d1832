//! What the kernel says in its files: of processes and the machine in `/proc` (proc(5)), and where control groups are
//! (cgroups(7)). One reader for each file, for all who need it.
//!
//! Nothing here judges, keeps or waits. A file vanishes when its process ends, another user's may not be read, and
//! an older kernel has others: whatever is not as expected is none.

mod fields;
pub mod groups;
mod machine;
mod names;
mod process;
mod tcp;
mod thread;

pub use fields::{Limits, count, field, kib, limit, number, read_number};
pub use machine::{
    HostStat, Load, Times, counted_list, hidepid, host_stat, loadavg, port_range, processors, times,
};
pub use names::{thread_group, without_digits};
pub use process::{
    Process, Stat, arguments, is_gone, name, namespace, pids, pids_in, process, program, socket_inode,
    sockets, stat, tick_ns,
};
pub use tcp::{Socket, State, holders, line as tcp_line, tcp};
pub use thread::{Sched, schedstat};
