//! Which process listens on a port: from `/proc/net/tcp` to a socket's inode, and from there to
//! the process that has it open (proc(5)). Processes of other users stay unseen unless we are root.

use std::fs;
use std::net::SocketAddr;

/// `listening` in the `st` column.
const LISTEN: &str = "0A";

/// `nginx (process 812)`, when it can be found out.
pub(crate) fn of(address: SocketAddr) -> Option<String> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| listeners(&table, address.port()))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find_map(|pid| {
        let mut open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
        open.find(|fd| {
            fs::read_link(fd.path())
                .is_ok_and(|to| inodes.iter().any(|inode| to.as_os_str() == inode.as_str()))
        })?;
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(format!("{} (process {pid})", name.trim_end()))
    })
}

/// The inodes of the sockets that listen on `port`.
fn listeners(table: &str, port: u16) -> Vec<u64> {
    let port = format!(":{port:04X}");
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let columns: Vec<&str> = line.split_ascii_whitespace().collect();
            let (local, state, inode) = (columns.get(1)?, columns.get(3)?, columns.get(9)?);
            (local.ends_with(&port) && *state == LISTEN).then(|| inode.parse().ok()).flatten()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_listener_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound");
        let holder = of(address).expect("our own descriptors can be read");
        assert!(holder.ends_with(&format!("(process {})", std::process::id())), "{holder}");
        drop(listener);
        assert_eq!(of(address), None);
    }
}
