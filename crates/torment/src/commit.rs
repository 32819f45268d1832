//! Which commit is checked out in a folder, read from the files that git keeps; git itself is not run.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// A reference may name another; more than this go in circles.
const DEEPEST: u32 = 5;
/// A file that names a commit or a folder is no longer than this.
const LONGEST: u64 = 4096;
/// So many hexadecimal digits tell the commits of any repository apart.
const SHORT: usize = 12;

/// The first digits of the commit; none outside of a repository, before its first commit, or if it is kept in a way that is not
/// known here.
pub fn commit(folder: &Path) -> Option<String> {
    let git = folder.ancestors().find_map(git_folder)?;
    // Another work tree of a repository has its own HEAD, and shares all else.
    let shared = match read(&git.join("commondir")) {
        Some(path) => git.join(path),
        None => git.clone(),
    };
    let mut said = read(&git.join("HEAD"))?;
    for _ in 0..DEEPEST {
        let Some(name) = said.strip_prefix("ref: ").map(str::trim) else {
            let is_hash =
                matches!(said.len(), 40 | 64) && said.bytes().all(|digit| digit.is_ascii_hexdigit());
            return is_hash.then(|| said[..SHORT].to_owned());
        };
        // A reference is a path below refs/, and leads nowhere else.
        if !name.starts_with("refs/") || name.split('/').any(|part| part == "..") {
            return None;
        }
        let loose = read(&git.join(name)).or_else(|| read(&shared.join(name)));
        said = loose.or_else(|| packed(&shared.join("packed-refs"), name))?;
    }
    None
}

/// Where git keeps what belongs to a work tree: `.git`, or the folder that a file of that name leads to.
fn git_folder(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let said = read(&git)?;
    Some(folder.join(said.strip_prefix("gitdir: ")?.trim()))
}

/// A short file without the space around its text.
fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned())
}

/// The commit of a reference that has no file of its own: a line `HASH NAME`.
fn packed(path: &Path, name: &str) -> Option<String> {
    let lines = BufReader::new(File::open(path).ok()?).lines().map_while(Result::ok);
    let mut found = lines.filter_map(|line| {
        let (hash, named) = line.split_once(' ')?;
        (named == name).then(|| hash.to_owned())
    });
    found.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

    /// A folder with these files in it.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("can be made");
            std::fs::write(path, text).expect("can be written");
        }
        folder
    }

    #[test]
    fn the_commit_that_is_checked_out() {
        let line = format!("{HASH}\n");
        let packed =
            format!("# pack-refs with: peeled\n{HASH} refs/heads/main\n^{HASH}\n{HASH} refs/tags/v1\n");
        for (what, files, expected) in [
            (
                "a branch",
                vec![(".git/HEAD", "ref: refs/heads/main\n"), (".git/refs/heads/main", &line)],
                true,
            ),
            ("packed", vec![(".git/HEAD", "ref: refs/heads/main\n"), (".git/packed-refs", &packed)], true),
            ("detached", vec![(".git/HEAD", &line)], true),
            (
                "by another reference",
                vec![
                    (".git/HEAD", "ref: refs/heads/now\n"),
                    (".git/refs/heads/now", "ref: refs/heads/main"),
                    (".git/refs/heads/main", &line),
                ],
                true,
            ),
            (
                "another work tree",
                vec![
                    (".git", "gitdir: real/worktrees/one\n"),
                    ("real/worktrees/one/HEAD", "ref: refs/heads/main\n"),
                    ("real/worktrees/one/commondir", "../..\n"),
                    ("real/refs/heads/main", &line),
                ],
                true,
            ),
            ("no commit yet", vec![(".git/HEAD", "ref: refs/heads/main\n")], false),
            ("in circles", vec![(".git/HEAD", "ref: refs/a"), (".git/refs/a", "ref: refs/a")], false),
            ("out of the folder", vec![(".git/HEAD", "ref: refs/../../secret"), ("secret", &line)], false),
            ("no hash", vec![(".git/HEAD", "tea")], false),
            ("an empty file", vec![(".git", "")], false),
        ] {
            let folder = folder(&files);
            let below = folder.path().join("a/b");
            std::fs::create_dir_all(&below).expect("can be made");
            let expected = expected.then(|| HASH[..SHORT].to_owned());
            assert_eq!(commit(&below), expected, "{what}");
        }
    }
}
