//! Needs of every test server: an ordinary user, a folder, a port, an end.

use rustix::process::{Pid, Signal, kill_process};
use service::postgres::User;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// A temporary folder owned by that user.
pub(crate) fn temp_folder(prefix: &str, user: Option<User>) -> TempDir {
    let folder = tempfile::Builder::new().prefix(prefix).tempdir().expect("the temporary folder is writable");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("the folder is ours");
    if let Some(User { uid, gid }) = user {
        chown(folder.path(), Some(uid), Some(gid)).expect("root may give a folder away");
    }
    folder
}

/// Freed at once: another process could take it, which the start would then report.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port()
}

/// A command that runs as the given user, in a folder which that user can enter, and outside
/// our process group: a Ctrl-C at the test is ours to handle.
pub(crate) fn command(program: &Path, user: Option<User>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).process_group(0);
    if let Some(User { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
    command
}

/// Asks a server to end, and kills it if it does not.
pub(crate) fn stop(server: &mut Child, signal: Signal) {
    if let Some(pid) = i32::try_from(server.id()).ok().and_then(Pid::from_raw) {
        // It may have ended already.
        let _ = kill_process(pid, signal);
    }
    let until = Instant::now() + STOP_PATIENCE;
    while matches!(server.try_wait(), Ok(None)) {
        if Instant::now() > until {
            let _ = server.kill();
            let _ = server.wait();
            break;
        }
        sleep(Duration::from_millis(10));
    }
}
