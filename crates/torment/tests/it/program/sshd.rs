//! ssh hosts that are this machine: each connection has its own sshd, without a port, with keys generated for it.

use super::{Sandbox, binary};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The hosts, by ssh name.
pub struct SshHosts<'a> {
    place: &'a Sandbox,
    sshd: PathBuf,
}

fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

impl<'a> SshHosts<'a> {
    /// `None`, with a message, where there is no OpenSSH.
    pub fn new(sandbox: &'a Sandbox) -> Option<Self> {
        let (Some(ssh), Some(sshd), Some(keygen)) = (found("ssh"), found("sshd"), found("ssh-keygen")) else {
            eprintln!("SKIPPED: there is no OpenSSH server here: apt-get install openssh-server");
            return None;
        };
        if is_root() {
            // sshd's privilege separation folder, needed when root.
            std::fs::create_dir_all("/run/sshd").expect("root may");
        }
        for key in ["host", "key", "other"] {
            let made = Command::new(&keygen)
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(sandbox.path(key))
                .status()
                .expect("it can be run");
            assert!(made.success());
        }
        let key = std::fs::read_to_string(sandbox.path("key.pub")).expect("it was made");
        sandbox.write("authorized", &key);
        for folder in ["bin", "there", "torment-bin", "tmp", "kinds"] {
            std::fs::create_dir(sandbox.path(folder)).expect("the folder is ours");
        }
        symlink(binary(), sandbox.path("torment-bin/torment")).expect("the folder is ours");
        let hosts = Self { place: sandbox, sshd };
        hosts.script(
            "bin/ssh",
            &format!("exec {} -F {} \"$@\"", ssh.display(), sandbox.path("hosts").display()),
        );
        sandbox.write("hosts", "");
        hosts.add("b", "torment-bin", "", "");
        hosts.add("c", "torment-bin", "", "");
        Some(hosts)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.place.write(name, &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).expect("it is ours");
    }

    /// Creates a program there, in this folder.
    pub fn program(&self, folder: &str, name: &str, text: &str) {
        self.script(&format!("{folder}/{name}"), text);
    }

    /// A host with this folder on its path; `before` starts its sshd, and `more` is added to ssh's configuration.
    pub fn add(&self, name: &str, folder: &str, before: &str, more: &str) {
        let path = |name: &str| self.place.path(name).display().to_string();
        let config = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nPidFile none\nSetEnv PATH={}:/usr/bin:/bin HOME={} TMPDIR={}\n",
            path("host"),
            path("authorized"),
            path(folder),
            path("there"),
            path("tmp"),
        );
        let sshd = format!("{before} {} -i -e -f {}", self.sshd.display(), path(&format!("{name}.sshd")));
        self.place.write(&format!("{name}.sshd"), &config);
        self.script(&format!("{name}.start"), &format!("exec {sshd} 2>>{}", path("sshd.log")));
        let mut hosts = std::fs::read_to_string(self.place.path("hosts")).expect("it was written");
        let key = if more.contains("IdentityFile") { "other" } else { "key" };
        // ssh uses the first value of an option.
        hosts += &format!(
            "Host {name}\n  {more}\n  ProxyCommand {}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
             StrictHostKeyChecking accept-new\n  LogLevel ERROR\n",
            path(&format!("{name}.start")),
            path(key),
            path("known"),
        );
        self.place.write("hosts", &hosts);
    }

    /// torment that finds ssh here.
    pub fn command<'b>(&self, arguments: impl IntoIterator<Item = &'b str>) -> Command {
        self.homed(self.place.command(arguments))
    }

    /// The same for any command.
    pub fn homed(&self, mut command: Command) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(self.place.path("bin")).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).expect("it has no colon"));
        command
    }

    /// Processes there, with their command lines.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let home = format!("HOME={}", self.place.path("there").display());
        let hosts = self.place.path("hosts").display().to_string();
        let read = |path: &Path| std::fs::read(path).unwrap_or_default();
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        all.filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let line = String::from_utf8_lossy(&read(&entry.path().join("cmdline"))).replace('\0', " ");
            let is_there = read(&entry.path().join("environ"))
                .split(|byte| *byte == 0)
                .any(|one| one == home.as_bytes());
            (is_there && !line.is_empty() || line.contains(&hosts)).then_some((pid, line))
        })
        .collect()
    }

    pub fn workers(&self) -> Vec<u32> {
        self.members("worker")
    }

    pub fn watchers(&self) -> Vec<u32> {
        self.members("watcher")
    }

    fn members(&self, word: &str) -> Vec<u32> {
        let all = self.processes().into_iter();
        all.filter(|(_, line)| line.ends_with(&format!(" {word} ")) && !line.contains("sh -c"))
            .map(|(pid, _)| pid)
            .collect()
    }
}
