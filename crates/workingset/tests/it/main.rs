//! The reader process as torment starts it: this program is its own reader if its first argument says so.

use std::path::Path;
use std::process::ExitCode;
use torment_workingset::{Error, PostgresTable, ReadSource, ReaderProcess, run_reader, write_random_file};
use units::{Bytes, Nanos};

const MIB: u64 = 1 << 20;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("reader") {
        return if run_reader().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    testbed::run_tests(&[
        ("memory", memory),
        ("a file, and our own cache before it", file),
        ("what cannot be read is said", refused),
        ("it ends with its handle", ends),
        ("a table", table),
    ])
}

fn start(source: &ReadSource) -> Result<ReaderProcess, Error> {
    ReaderProcess::start(&std::env::current_exe().expect("this runs"), source, 1, Vec::new())
}

fn memory() {
    for huge in [false, true] {
        let mut reader = start(&ReadSource::Memory { most: Bytes(4 * MIB), huge }).expect("there is so much");
        let reading = reader.read(Bytes(MIB), Nanos::from_millis(20)).expect("it is there");
        assert!(reading.reads() > 1000 && reading.times.is_empty());
        assert!(matches!(reader.read_twice(), Err(Error::Read(..))), "memory is below nothing");
    }
}

fn file() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder that is a disk's");
    let path = folder.path().join("blocks");
    write_random_file(&path, Bytes(4 * MIB), 1, &|| false).expect("there is room");
    let mut reader = start(&ReadSource::File { path: path.clone(), depth: 1 }).expect("it is there");
    let reading = reader.read(Bytes(2 * MIB), Nanos::from_millis(50)).expect("it is there");
    assert_eq!(reading.times.count(), reading.reads());
    let direct = ReadSource::Direct { path, cache: Bytes(MIB) };
    match start(&direct) {
        Err(why) => println!("SKIPPED: {why}"),
        Ok(mut reader) => {
            let reading = reader.read(Bytes(4 * MIB), Nanos::from_millis(200)).expect("it is there");
            let share = reading.missed_share().expect("our own cache knows");
            let doubt = 5.0 / (reading.reads() as f64).sqrt();
            assert!((share - 0.75).abs() < doubt, "{share} of {} reads", reading.reads());
            assert!(reader.read_twice().expect("it is there").first > Nanos::ZERO);
        }
    }
}

fn refused() {
    let why = start(&ReadSource::File { path: "/no/such/file".into(), depth: 1 }).expect_err("there is none");
    assert!(why.to_string().starts_with("/no/such/file cannot be read: No such file"), "{why}");
    let why =
        start(&ReadSource::Memory { most: Bytes(u64::MAX), huge: false }).expect_err("nobody has so much");
    assert!(why.to_string().contains("of memory cannot be read"), "{why}");
    let nobody = ReaderProcess::start(
        Path::new("/no/such/program"),
        &ReadSource::Memory { most: Bytes(1), huge: false },
        1,
        Vec::new(),
    );
    assert!(nobody.expect_err("there is none").to_string().contains("/no/such/program does not start"));
}

fn ends() {
    let mine = || {
        let own = std::process::id().to_string();
        let children = std::fs::read_to_string(format!("/proc/self/task/{own}/children"));
        children.unwrap_or_default().split_whitespace().count()
    };
    let before = mine();
    let reader = start(&ReadSource::Memory { most: Bytes(MIB), huge: false }).expect("there is so much");
    drop(reader);
    assert_eq!(mine(), before);
}

fn table() {
    let Some(server) = testbed::TestPostgres::start() else { return };
    let url = server.url();
    assert!(matches!(PostgresTable::create(&url, Bytes(MIB), true, 1, &|| true), Err(Error::Interrupted)));
    for own in [false, true] {
        // What the interrupted one left, if it was not temporary.
        let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("it runs");
        client.batch_execute("drop table if exists torment_working_set").expect("it is ours");
        let mut table = PostgresTable::create(&url, Bytes(4 * MIB), own, 1, &|| false).expect("it runs");
        assert!((3.5..5.5).contains(&(table.size().0 as f64 / MIB as f64)), "{}", table.size());
        let reading = table.read(Bytes(2 * MIB), Nanos::from_millis(100)).expect("it runs");
        assert!(reading.reads() > 10 && reading.times.count() == reading.reads());
        assert!(reading.missed_share().is_none(), "a server reads more at once than it is asked for");
        drop(table);
        let left = "select count(*) from pg_class where relname = 'torment_working_set'";
        // The server ends a session after its client has left.
        let gone = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            client.query_one(left, &[]).expect("it runs").get::<_, i64>(0) == 0
        });
        assert_eq!(gone, !own, "a temporary table is gone with its session, another one is not");
    }
    let why =
        PostgresTable::create("postgres://nobody@127.0.0.1:1/none", Bytes(MIB), false, 1, &|| false).err();
    assert!(why.expect("nothing listens").to_string().starts_with("the database: "));
}
