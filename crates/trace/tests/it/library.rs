//! This machine's C library, parsed and traced.

use anatomy::{CloneKind, CreationSyscall, Error, Executable, Image, Linkage, SyscallPaths};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The C library of `sh`, from its memory: independent of torment's own search, which is tested elsewhere.
/// None, with a message, where the shell is static.
fn libc() -> Option<PathBuf> {
    let maps =
        Command::new("/bin/sh").args(["-c", "while read l; do echo \"$l\"; done < /proc/self/maps"]).output();
    let maps = String::from_utf8(maps.expect("every Linux has a shell").stdout).expect("paths are text here");
    let mut paths = maps.lines().filter_map(|line| line.get(line.find('/')?..));
    let found = paths.find(|path| {
        Path::new(path).file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            name.starts_with("libc.so") || name.starts_with("libc-2") || name.starts_with("ld-musl")
        })
    });
    if found.is_none() {
        eprintln!("SKIPPED: the shell has no C library of its own file");
    }
    found.map(PathBuf::from)
}

fn walk(bytes: &[u8], symbol: &str) -> SyscallPaths {
    let image = Image::read(bytes).expect("a library of this machine");
    anatomy::find_syscall_paths(&[image], symbol).expect("every C library has it")
}

#[test]
fn fork_ends_in_a_system_call_without_shared_memory() {
    let Some(path) = libc() else { return };
    let bytes = std::fs::read(&path).expect("it is in use");
    let walk = walk(&bytes, "fork");
    let chain = walk.paths.first().expect("fork makes a process");
    assert_eq!(chain.steps[0].names[0].symbol, "fork");
    let site = &chain.site;
    if let Some(flags) = site.flags {
        assert_eq!(flags.kind(), CloneKind::Fork);
        assert_eq!(flags.signal_name().as_deref(), Some("SIGCHLD"));
    }
    let last = site.lines.last().expect("the call itself");
    assert_eq!(last.address, site.address);
    assert_eq!(site.address + last.bytes.len() as u64, site.next_address);
    // Every call on the path targets the next function and lies in the previous one.
    for pair in chain.steps.windows(2) {
        assert!(!pair[0].calls.is_empty(), "{pair:?}");
    }
    let version = anatomy::libc_version(&bytes);
    if cfg!(target_arch = "x86_64") && version.as_deref() == Some("glibc 2.36") {
        let names: Vec<String> = chain.steps.iter().map(|step| step.names[0].to_string()).collect();
        assert_eq!(names, ["fork@@GLIBC_2.2.5", "_Fork@@GLIBC_2.34"]);
        assert_eq!((site.number, site.creation), (0x38, CreationSyscall::Clone));
        let flags = site.flags.expect("they are in the code");
        assert_eq!(flags.bits | flags.signal, 0x120_0011);
        assert_eq!(last.bytes, [0x0f, 0x05]);
        assert!(site.lines.iter().any(|line| line.bytes == [0xb8, 0x38, 0, 0, 0]), "{:?}", site.lines);
        assert_eq!(walk.bypassed, ["clone@@GLIBC_2.2.5"]);
    }
}

#[test]
fn the_others_end_in_one_too() {
    let Some(path) = libc() else { return };
    let bytes = std::fs::read(&path).expect("it is in use");
    for symbol in ["vfork", "posix_spawn", "pthread_create"] {
        let image = Image::read(&bytes).expect("a library of this machine");
        let walk = match anatomy::find_syscall_paths(&[image], symbol) {
            // Before glibc 2.34 threads had a separate library.
            Err(Error::NoSymbol { .. }) if symbol == "pthread_create" => continue,
            walk => walk.expect("every C library has it"),
        };
        let chain = walk.paths.first().unwrap_or_else(|| panic!("{symbol}: {walk:?}"));
        assert!(chain.steps.len() <= 6, "{symbol}: {:?}", chain.steps);
        if let Some(flags) = chain.site.flags {
            let expected = if symbol == "pthread_create" { CloneKind::Thread } else { CloneKind::Vfork };
            assert_eq!(flags.kind(), expected, "{symbol}");
        }
        if symbol == "vfork" {
            assert_eq!(chain.steps.len(), 1, "it must not return to a function in between");
        }
    }
    let image = Image::read(&bytes).expect("a library of this machine");
    let getpid = anatomy::find_syscall_paths(&[image], "getpid").expect("every C library has it");
    assert!(getpid.paths.is_empty(), "{:?}", getpid.paths);
}

#[test]
fn the_library_and_the_shell_are_what_they_are() {
    let Some(path) = libc() else { return };
    let read = |path: &Path| match anatomy::read_executable(&std::fs::read(path).expect("it is there")) {
        Ok(Executable::Elf(binary)) => *binary,
        other => panic!("{}: {other:?}", path.display()),
    };
    let library = read(&path);
    assert_eq!(library.kind, Linkage::Library);
    assert!(library.exported.iter().any(|name| name == "fork"));
    let shell = read(&std::fs::canonicalize("/bin/sh").expect("every Linux has a shell"));
    assert!(matches!(shell.kind, Linkage::Dynamic { .. }));
    assert!(shell.interpreter.is_some() && !shell.needed.is_empty());
    let undefined = shell.undefined.expect("it has its sections");
    let fork = undefined.iter().find(|symbol| symbol.name == "fork").expect("shells fork");
    if let Some(library) = &fork.library {
        assert!(shell.needed.contains(library), "{library}");
    }
}

/// Real files with single bytes changed, at fixed positions so that runs are reproducible.
#[test]
fn damaged_libraries_are_read_as_far_as_they_can_be() {
    let Some(path) = libc() else { return };
    let bytes = std::fs::read(&path).expect("it is in use");
    let mut state = 1_u64;
    for round in 0..60 {
        let mut damaged = bytes.clone();
        for _ in 0..=round {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let within = if state & 1 == 0 { 4096 } else { damaged.len() };
            let at = (state >> 20) as usize % within;
            damaged[at] = (state >> 8) as u8;
        }
        if round % 3 == 0 {
            damaged.truncate((state >> 16) as usize % bytes.len());
        }
        let _ = anatomy::read_executable(&damaged);
        if let Ok(image) = Image::read(&damaged) {
            let _ = anatomy::find_syscall_paths(&[image], "fork");
        }
    }
}
