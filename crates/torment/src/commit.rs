//! The commit checked out in a folder, from git.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Hexadecimal digits that identify a commit in any repository.
const HASH_DIGITS: usize = 12;
/// A run does not wait longer for a disk that does not answer.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of checks whether git has ended: it takes some milliseconds.
const POLL: Duration = Duration::from_millis(1);

/// The commit's first digits; `None` outside a repository, before its first commit, or if git is missing or too slow.
pub fn commit(folder: &Path) -> Option<String> {
    let mut git = git(folder);
    git.args(["rev-parse", "--verify", "--quiet", "HEAD"]);
    output_within(&mut git, TIMEOUT)?.get(..HASH_DIGITS).map(str::to_owned)
}

/// git in a folder, ignoring any repository in the environment: git's own hooks set one.
fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
    git
}

/// What a command prints, if it ends in time.
fn output_within(command: &mut Command, patience: Duration) -> Option<String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let until = Instant::now() + patience;
    while let Ok(None) = child.try_wait() {
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        sleep(POLL);
    }
    let mut output = String::new();
    child.stdout.take()?.read_to_string(&mut output).ok()?;
    Some(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_that_is_checked_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let below = folder.path().join("a/b");
        std::fs::create_dir_all(&below).expect("can be made");
        let git = |words: &[&str]| {
            let mut git = git(folder.path());
            git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(words);
            output_within(&mut git, Duration::from_secs(60))
        };
        if git(&["init"]).is_none() {
            return eprintln!("SKIPPED: git is not installed");
        }
        assert_eq!(commit(&below), None, "no commit yet");
        git(&["commit", "--allow-empty", "--message=one"]);
        let head = git(&["log", "--format=%H"]).expect("it was just there");
        assert_eq!(commit(&below).as_deref(), Some(&head[..HASH_DIGITS]));
        let elsewhere = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(commit(elsewhere.path()), None, "no repository");
    }

    #[test]
    fn nobody_waits_for_one_that_does_not_answer() {
        assert_eq!(output_within(Command::new("sleep").arg("600"), Duration::from_millis(20)), None);
        assert_eq!(output_within(&mut Command::new("no-such-program"), TIMEOUT), None);
    }
}
