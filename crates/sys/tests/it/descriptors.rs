//! Descriptor tables.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, read, write};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Barrier;

const LIMIT: u64 = 300;
/// 0 to 2, what is kept, and what a test harness may have open.
const SPARE: usize = 20;

fn open_all() -> Vec<OwnedFd> {
    let mut all = Vec::new();
    loop {
        match eventfd(0, EventfdFlags::CLOEXEC) {
            Ok(fd) => all.push(fd),
            Err(e) => {
                assert_eq!(e, Errno::MFILE);
                return all;
            }
        }
    }
}

/// Three threads each open nearly the whole limit at the same time; the others' table stays as it was, a kept
/// descriptor works in both, and all others are really closed.
#[test]
fn each_table_has_the_whole_limit() {
    if !testbed::is_own_process("descriptors::each_table_has_the_whole_limit") {
        return;
    }
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(LIMIT), ..before }).expect("lower");
    let mut file = tempfile();
    let kept = eventfd(0, EventfdFlags::CLOEXEC).expect("a descriptor");
    let (reader, writer) = rustix::pipe::pipe().expect("two descriptors");
    let (filled, checked) = (Barrier::new(4), Barrier::new(4));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let own = torment_sys::unshare_descriptors(&[kept.as_fd()]);
                    let all = open_all();
                    filled.wait();
                    checked.wait();
                    own.expect("the kernel is new enough");
                    write(&kept, &1_u64.to_ne_bytes()).expect("it is open here too");
                    all.len()
                })
            })
            .collect();
        filled.wait();
        file.write_all(b"still here").expect("the file is open");
        drop(writer);
        let mut byte = [0];
        assert_eq!(read(&reader, &mut byte), Ok(0), "the other end is open in no table");
        assert!(open_all().len() > LIMIT as usize - SPARE, "our own table has room");
        checked.wait();
        for thread in threads {
            let opened = thread.join().expect("no panic");
            assert!(opened > LIMIT as usize - SPARE && opened < LIMIT as usize, "{opened}");
        }
    });
    let mut count = [0; 8];
    assert_eq!(read(&kept, &mut count), Ok(8));
    assert_eq!(u64::from_ne_bytes(count), 3);
    file.rewind().expect("the file is open");
    let mut text = String::new();
    file.read_to_string(&mut text).expect("the file is open");
    assert_eq!(text, "still here");
    setrlimit(Resource::Nofile, before).expect("as it was");
}

fn tempfile() -> File {
    rustix::fs::memfd_create("table", rustix::fs::MemfdFlags::CLOEXEC).expect("a descriptor").into()
}
