//! Known paths in libraries made for the test.

use crate::elf_fixture::{library_aarch64, library_x86_64};
use anatomy::{
    Architecture, CloneKind, CreationSyscall, DynamicReason, Error, Executable, Image, Linkage, SyscallPaths,
    dynamic_reasons,
};
use torment_anatomy as anatomy;

fn find_paths(file: &[u8], symbol: &str) -> SyscallPaths {
    let image = Image::read(file).expect("it was made so");
    anatomy::find_syscall_paths(&[image], symbol).expect("it is there")
}

fn names(walk: &SyscallPaths, chain: usize) -> Vec<String> {
    let name =
        |step: &anatomy::PathStep| step.names.first().map_or_else(String::new, |name| name.symbol.clone());
    walk.paths[chain].steps.iter().map(name).collect()
}

#[test]
fn over_a_slot_of_the_loader_on_aarch64() {
    let walk = find_paths(&library_aarch64(), "fork");
    assert_eq!(walk.machine, Architecture::AARCH64);
    assert_eq!(walk.paths.len(), 1, "clone is not called");
    assert_eq!(names(&walk, 0), ["fork", "_Fork"], "the stub is no step");
    let chain = &walk.paths[0];
    let site = &chain.site;
    assert_eq!((site.address, site.next_address, site.number), (0x234, 0x238, 220));
    assert_eq!(site.creation, CreationSyscall::Clone);
    let flags = site.flags.expect("they are in the code");
    assert_eq!(flags.names(), "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD");
    assert_eq!(flags.kind(), CloneKind::Fork);
    let texts: Vec<&str> = site.lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts.last(), Some(&"svc #0x0"));
    assert_eq!(texts.len(), 4, "since the branch arrives: {texts:?}");
    assert_eq!(walk.bypassed, ["clone"]);
    let call = &chain.steps[0].calls;
    assert_eq!((call.len(), call[0].line.address, call[0].returns), (1, 0x204, Some(0x208)));
}

#[test]
fn by_a_jump_and_without_a_name_on_x86_64() {
    let walk = find_paths(&library_x86_64(), "posix_spawn");
    assert_eq!(walk.paths.len(), 2, "{:#?}", walk.paths);
    assert_eq!(names(&walk, 0), ["posix_spawn", "__clone3"]);
    let site = &walk.paths[0].site;
    assert_eq!((site.address, site.number, site.creation), (0x22f, 435, CreationSyscall::Clone3));
    assert_eq!(site.flags, None, "they are in memory");
    // A byte write to the register with the number.
    assert_eq!(names(&walk, 1), ["posix_spawn", "clone"]);
    assert_eq!((walk.paths[1].site.number, walk.paths[1].site.flags), (56, None));
}

#[test]
fn ways_that_lead_nowhere() {
    let walk = find_paths(&library_x86_64(), "getpid");
    assert!(walk.paths.is_empty());
    assert_eq!((walk.functions, walk.depth, walk.cut_short), (1, 0, None));
    let again = self::find_paths(&library_x86_64(), "loop");
    assert!(again.paths.is_empty());
    assert_eq!((again.functions, again.unknown_calls), (1, 1));
    let file = library_x86_64();
    let image = Image::read(&file).expect("it was made so");
    let why = anatomy::find_syscall_paths(&[image], "elsewhere").expect_err("it is undefined there");
    assert_eq!(why, Error::NoSymbol { symbol: "elsewhere".to_owned() });
}

#[test]
fn what_the_file_is() {
    let Ok(Executable::Elf(binary)) = anatomy::read_executable(&library_x86_64()) else {
        panic!("it is a program")
    };
    assert_eq!(binary.kind, Linkage::Dynamic { pie: true });
    assert_eq!(binary.interpreter.as_deref(), Some("/lib64/ld-linux-x86-64.so.2"));
    assert_eq!(binary.needed, ["libc.so.6", "libsqlite3.so.0"]);
    let undefined = binary.undefined.as_deref().expect("it has its sections");
    assert_eq!(undefined.iter().map(|symbol| symbol.name.as_str()).collect::<Vec<_>>(), ["elsewhere"]);
    let [DynamicReason::Library { soname, description: Some(what) }] = &dynamic_reasons(&binary)[..] else {
        panic!("{:?}", dynamic_reasons(&binary));
    };
    assert!(soname == "libsqlite3.so.0" && what.starts_with("SQLite"));
    assert!(binary.problems.is_empty(), "{:?}", binary.problems);
    let Ok(Executable::Elf(library)) = anatomy::read_executable(&library_aarch64()) else {
        panic!("it is a library")
    };
    assert_eq!((library.kind, library.machine), (Linkage::Library, Architecture::AARCH64));
}
