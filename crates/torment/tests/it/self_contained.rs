//! The binary needs nothing but itself: no loader, no library, no file. It runs in an otherwise empty root folder.

use crate::manual::recorded_runs;
use crate::program::target::free_port;
use crate::program::{LoadTurn, RunningProcess, SOON, Sandbox, binary};
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// From the ELF specification: the program header that names a loader, and the one with the dynamic section.
const PT_INTERP: u32 = 3;
const PT_DYNAMIC: u32 = 2;
/// Tag in the dynamic section: a needed library.
const DT_NEEDED: u64 = 1;

fn integer(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[test]
fn the_binary_is_static() {
    let file = fs::read(binary()).expect("cargo has built it");
    assert_eq!(&file[..6], b"\x7fELF\x02\x01", "a little-endian 64-bit ELF file");
    let at = |from, length| usize::try_from(integer(&file, from, length)).expect("64 bits");
    let (table, size, count) = (at(32, 8), at(54, 2), at(56, 2));
    assert!(count > 0);
    for header in (0..count).map(|n| table + n * size) {
        match u32::try_from(integer(&file, header, 4)).expect("32 bits") {
            PT_INTERP => panic!("it asks for a loader"),
            PT_DYNAMIC => {
                let (offset, length) = (at(header + 8, 8), at(header + 32, 8));
                for entry in (offset..offset + length).step_by(16) {
                    assert_ne!(integer(&file, entry, 8), DT_NEEDED, "it asks for a library");
                }
            }
            _ => {}
        }
    }
}

/// A root folder with the binary and nothing else.
fn root(place: &Sandbox) -> std::path::PathBuf {
    let root = place.path("root");
    fs::create_dir(&root).expect("the folder is ours");
    // Copied by another process: what another test starts while we have the file open for writing inherits it for a
    // moment, and then it cannot be run (ETXTBSY).
    let copied = Command::new("cp").arg(binary()).arg(root.join("torment")).status().expect("cp is there");
    assert!(copied.success(), "there is room for a copy");
    fs::set_permissions(root.join("torment"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    root
}

/// Runs in that root folder with an empty environment. `None`, with a message, where chroot is not permitted.
fn inside(root: &Path, arguments: &[&str]) -> Option<Command> {
    let is_root = rustix::process::geteuid().is_root();
    let mut command = Command::new(if is_root { "chroot" } else { "unshare" });
    if !is_root {
        let allowed = Command::new("unshare").args(["-r", "chroot", "/", "true"]).output();
        if !allowed.is_ok_and(|output| output.status.success()) {
            eprintln!("SKIPPED: only root may change the root folder here (unshare -r is not allowed)");
            return None;
        }
        command.args(["-r", "chroot"]);
    }
    command.arg(root).arg("/torment").args(arguments);
    // chroot itself is looked up in PATH, before the root is changed.
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).current_dir("/");
    Some(command)
}

/// There is no font either.
#[test]
fn a_picture_has_its_letters_in_an_empty_root_folder() {
    let place = Sandbox::new();
    let root = root(&place);
    recorded_runs::put(&root.join("r.db"));
    for file in ["/r.svg", "/r.png"] {
        let Some(report) = inside(&root, &["report", "demo", "-o", file, "--store", "/r.db"]) else { return };
        RunningProcess::start(report).end().expect(0);
    }
    let svg = fs::read_to_string(root.join("r.svg")).expect("it was written");
    let png = fs::read(root.join("r.png")).expect("it was written");
    assert!(png == picture::png(&svg).expect("it is an SVG"), "it is another picture than elsewhere");
}

mod load {
    use super::*;

    #[test]
    fn it_runs_in_an_empty_root_folder() {
        let _turn = LoadTurn::shared();
        let place = Sandbox::new();
        let root = root(&place);
        let run =
            |arguments: &[&str]| inside(&root, arguments).map(|command| RunningProcess::start(command).end());
        let Some(help) = run(&["--help"]) else { return };
        assert!(help.expect(0).stdout.contains("torment find demo"));

        let null = ["run", "null", "-r", "1000", "-d", "1s", "--store", "/t.db", "--format", "json"];
        let json = run(&null).expect("it was allowed before").measured().json();
        assert_eq!(json["trial"]["outcomes"]["ok"], 1_000, "{json:#}");
        let shown =
            run(&["show", "--store", "/t.db", "--format", "json"]).expect("as before").expect(0).json();
        assert_eq!(shown, json);

        // A name cannot be resolved without /etc/resolv.conf; that is reported, and nothing crashes.
        let name = run(&["run", "http://name.invalid/", "-r", "1", "--store", "/t.db"]).expect("as before");
        name.expect_error(1, &["name.invalid"]);
        // Nor is there a home for a store, or a /proc.
        run(&["list"]).expect("as before").expect_error(1, &["HOME", "--store"]);
    }

    #[test]
    fn its_service_runs_in_an_empty_root_folder() {
        let _turn = LoadTurn::shared();
        let place = Sandbox::new();
        let root = root(&place);
        let address = format!("127.0.0.1:{}", free_port());
        // The clinic's database needs a folder, and has it in the root; nothing else is there.
        let serve = ["target", "--listen", &address, "--database", "/clinic.db"];
        let Some(target) = inside(&root, &serve) else { return };
        let mut target = RunningProcess::start(target);
        let until = Instant::now() + SOON;
        while TcpStream::connect(&address).is_err() {
            assert!(target.is_running() && Instant::now() < until, "the service does not listen");
            sleep(Duration::from_millis(10));
        }
        let url = format!("http://{address}/owners/{{1..1000}}");
        let load = ["run", &url, "-r", "200", "-d", "1s", "--store", "/t.db", "--format", "json"];
        let run = inside(&root, &load).expect("it was allowed before");
        let json = RunningProcess::start(run).end().measured().json();
        assert_eq!(json["trial"]["outcomes"]["ok"], 200, "{json:#}");
    }
}
