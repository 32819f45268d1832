//! How to run one's own PostgreSQL: where its programs are, as which user it runs, its arguments, and when it accepts
//! connections.

pub use crate::guard_protocol::User;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of `initdb` and `postgres`: Debian's newest, or the first in PATH.
pub fn programs() -> Option<PathBuf> {
    let mut debian: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    debian.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian
        .into_iter()
        .rev()
        .map(|(_, folder)| folder)
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

/// The user to run as instead of root, which some servers refuse: this one, or else `nobody`. `None` if not root, or
/// there is neither.
pub fn ordinary_user(name: &str) -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let table = fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let line = table.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut columns = line.split(':').skip(2);
        Some(User { uid: columns.next()?.parse().ok()?, gid: columns.next()?.parse().ok()? })
    };
    find(name).or_else(|| find("nobody"))
}

/// Arguments of `initdb`: an empty cluster whose superuser `postgres` needs no password. It does not sync to disk;
/// the server does.
pub fn initdb_arguments(data: &Path) -> Vec<OsString> {
    let options =
        ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--no-locale", "--no-sync", "-D"];
    options.into_iter().map(OsString::from).chain([data.into()]).collect()
}

/// Arguments of `postgres`: listen on this port of 127.0.0.1 and, if a folder is given, on a socket in it; each
/// setting is `name=value`.
pub fn server_arguments<S: AsRef<str>>(
    data: &Path,
    socket: Option<&Path>,
    port: u16,
    settings: impl IntoIterator<Item = S>,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into(), "-k".into()];
    arguments.push(socket.map(OsString::from).unwrap_or_default());
    arguments.extend(["-h", "127.0.0.1", "-p", &port.to_string()].map(OsString::from));
    for setting in settings {
        arguments.extend(["-c", setting.as_ref()].map(OsString::from));
    }
    arguments
}

/// Whether the server accepts connections, according to the last line of its `postmaster.pid`.
pub fn is_ready(data: &Path) -> bool {
    fs::read_to_string(data.join("postmaster.pid")).is_ok_and(|text| text.trim_end().ends_with("ready"))
}
