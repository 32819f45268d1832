//! The guard: two processes, each guarding what the other would leave. The first makes a folder, starts the second
//! and waits for it; the second starts and ends programs on request. Both adopt orphans
//! (PR_SET_CHILD_SUBREAPER(2const)): the survivor ends everything.

mod inner;

use crate::guarded_program::FOLDER_ENV;
use crate::process_tree;
use crate::undo;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{WaitStatus, getpid, set_child_subreaper};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Prefix of guards' folders among the temporary files.
const PREFIX: &str = "torment-guard-";
/// Locked while either process runs.
const LOCK: &str = "lock";
/// After this, a process that cannot be killed is left: it waits for a broken device, or is another user's.
const KILL_TIMEOUT: Duration = Duration::from_secs(20);
/// How long programs may take to end by themselves after the second process was killed.
const SUDDEN_GRACE: Duration = Duration::from_millis(500);

/// The hidden command `guard`, not to be started by hand. Its standard input is a socket.
///
/// # Errors
/// If it was started by hand, or cannot make its folder or its second process.
pub fn guard() -> io::Result<()> {
    match std::env::var_os(FOLDER_ENV) {
        Some(folder) => inner::run_inner(Path::new(&folder)),
        None => run_outer(),
    }
}

fn run_outer() -> io::Result<()> {
    if !fs::metadata("/proc/self/fd/0").is_ok_and(|input| input.mode() & 0o170_000 == 0o140_000) {
        return Err(io::Error::other("its standard input is not a socket"));
    }
    // Ctrl-C at torment's terminal is for torment alone. Fails if this already leads a session.
    let _ = rustix::process::setsid();
    set_child_subreaper(Some(getpid()))?;
    sweep(&std::env::temp_dir());
    let (folder, lock) = make_folder(&std::env::temp_dir())?;
    // The second process holds the same lock, and so keeps it if this one is killed.
    let child = Command::new("/proc/self/exe")
        .arg0("torment")
        .arg("guard")
        .env(FOLDER_ENV, &folder)
        .stdout(lock.try_clone()?)
        .stderr(Stdio::null())
        .spawn();
    let pid = match child {
        Ok(child) => child.id(),
        Err(why) => {
            fs::remove_dir_all(&folder)?;
            return Err(why);
        }
    };
    wait_for(pid);
    let until = Instant::now() + SUDDEN_GRACE;
    while Instant::now() < until && process_tree::reap(&mut |_, _: WaitStatus| {}) {
        std::thread::sleep(Duration::from_millis(5));
    }
    clean_up(&folder);
    Ok(())
}

fn wait_for(pid: u32) {
    use rustix::io::Errno;
    use rustix::process::{WaitOptions, wait};
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, _))) if ended.as_raw_pid().unsigned_abs() == pid => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Kills all that are left, undoes what is left, and removes the folder.
fn clean_up(folder: &Path) {
    process_tree::kill_all(KILL_TIMEOUT, &mut |_, _| {});
    undo::undo(folder);
    // Gone already, or the other process is removing it.
    let _ = fs::remove_dir_all(folder);
}

/// A new folder, and its lock. Others may traverse it, since its content belongs to other users too.
fn make_folder(temporary: &Path) -> io::Result<(PathBuf, File)> {
    let folder = temporary.join(format!("{PREFIX}{}-{}", std::process::id(), random_digits()?));
    DirBuilder::new().mode(0o700).create(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o711))?;
    let lock = File::create(folder.join(LOCK))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok((folder, lock))
}

/// Unguessable digits.
fn random_digits() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// Undoes what this user's guards left behind when both processes were killed.
fn sweep(temporary: &Path) {
    let uid = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let folder = entry.path();
        let is_guards = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        // Journals written by others are not followed.
        let is_own = || {
            fs::symlink_metadata(&folder).is_ok_and(|m| m.is_dir() && m.uid() == uid && m.mode() & 0o022 == 0)
        };
        if !is_guards || !is_own() {
            continue;
        }
        let Ok(lock) = File::open(folder.join(LOCK)) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            undo::undo(&folder);
            let _ = fs::remove_dir_all(&folder);
        }
    }
}
