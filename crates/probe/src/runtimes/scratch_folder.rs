//! A folder that is removed with this process, however it ends.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Makes the folder, prints its path, waits for the end of its input, which is ours, and removes it. What a compiler that
/// was killed has left running may still write for a moment.
const KEEPER_SCRIPT: &str = r#"trap '' INT TERM HUP
folder=$(mktemp -d "${TMPDIR:-/tmp}/torment-runtimes-XXXXXX") || exit 1
printf '%s\n' "$folder"
cat > /dev/null
rm -rf "$folder" || { sleep 1; rm -rf "$folder"; }"#;

/// A folder held by a process that outlives this one just long enough to remove it.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
    keeper: Child,
}

impl ScratchFolder {
    pub fn new() -> io::Result<Self> {
        // Ctrl-C at the terminal is for torment alone.
        let mut keeper = Command::new("/bin/sh")
            .args(["-c", KEEPER_SCRIPT])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        let output = keeper.stdout.take().expect("it was asked to be piped");
        let read = BufReader::new(output).read_line(&mut line);
        let path = PathBuf::from(line.trim_end());
        let this = Self { path, keeper };
        read?;
        if this.path.is_dir() { Ok(this) } else { Err(io::Error::other("mktemp(1) makes none")) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write(&self, name: &str, content: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::write(&path, content)?;
        Ok(path)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_and_goes() {
        let folder = ScratchFolder::new().expect("every Linux has a shell");
        let file = folder.write("file", "content").expect("it is ours");
        let path = folder.path().to_owned();
        assert!(file.is_file() && file.starts_with(&path));
        drop(folder);
        assert!(!path.exists());
    }
}
