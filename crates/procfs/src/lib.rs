//! Parses the kernel's files: on processes and the machine in `/proc` (proc(5)), and where control groups are
//! (cgroups(7)). One parser per file, for all callers.
//!
//! Nothing here judges, keeps or waits. A file vanishes when its process ends, another user's may not be
//! readable, and an older kernel has others: whatever is not as expected is `None`.

pub mod cgroups;
mod fields;
mod machine;
mod names;
mod process;
mod schedstat;
mod tcp;

pub use fields::{
    ResourceLimit, field, kib_field, number_field, parse_limit, parse_named, parse_number, read_number,
};
pub use machine::{
    CpuTimes, HostStat, LoadAvg, count_list, count_processors, hiding_options, parse_cpu_times,
    parse_host_stat, parse_loadavg, parse_port_range,
};
pub use names::{thread_group, without_digits};
pub use process::{
    Process, TaskStat, arguments, is_gone, namespace, parse_socket_inode, parse_stat, pids, pids_in,
    process_name, program, running_process, socket_inodes, tick_ns,
};
pub use schedstat::{SchedStat, parse_schedstat};
pub use tcp::{TcpSocket, TcpState, parse_tcp_line, socket_owners, tcp_sockets};
