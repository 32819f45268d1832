//! A real PostgreSQL: from an empty folder to seeded, reset, and gone.

use crate::scene::{Fixture, free_port, guard, never_stop};
use ::postgres::{Client, NoTls};
use plan::{Dependency, PostgresSetup, ResetMethod, ResourceLimits, Setup};
use service::{Error, Guard};
use std::fs;
use std::path::Path;
use testbed::NamedTest;
use units::Nanos;

pub const CHECKS: &[NamedTest] =
    &[("postgres::seeded_reset_and_gone", seeded_reset_and_gone), ("postgres::refusals", refusals)];

fn database(fixture: &Fixture) -> PostgresSetup {
    let text = |name: &str, sql: &str| {
        fs::write(fixture.path(name), sql).expect("ours");
        fixture.path(name).to_str().expect("ours").to_owned()
    };
    PostgresSetup {
        port: free_port(),
        database: "clinic \"one\"".to_owned(),
        seed: vec![
            text("1.sql", "CREATE TABLE pets (name text);\nCREATE TABLE visits (n int);"),
            text("2.sql", "INSERT INTO pets VALUES ('Rex');"),
        ],
        reset: Some(text("reset.sql", "TRUNCATE visits;")),
        settings: vec![("shared_buffers".to_owned(), "16MB".to_owned())],
        data: None,
        within: Nanos::from_secs(90),
        limits: ResourceLimits::default(),
    }
}

fn setup(database: &PostgresSetup) -> Setup {
    Setup { needs: vec![Dependency::Postgres(database.clone())], service: None, reset: ResetMethod::Sql }
}

/// Whether it is installed; prints a message if not.
fn installed() -> bool {
    let there = service::postgres::programs().is_some();
    if !there {
        eprintln!("SKIPPED: {}", Error::NoPostgres);
    }
    there
}

fn seeded_reset_and_gone() {
    if !installed() {
        return;
    }
    let fixture = Fixture::new();
    let mut database = database(&fixture);
    // Its user must be able to traverse the path to the folder, which is then given to it.
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(fixture.folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    fs::create_dir(fixture.path("disk")).expect("ours");
    for data in [None, Some(fixture.path("disk").to_str().expect("ours").to_owned())] {
        database.data = data;
        let setup = setup(&database);
        Guard::check(&setup).expect("nothing is in the way");
        let mut guard = guard();
        let took = guard.up(&setup, &never_stop).expect("it starts");
        assert!(took > Nanos::ZERO, "no database is there at once");
        assert_eq!(
            fs::read_dir(fixture.path("disk")).expect("ours").count(),
            usize::from(database.data.is_some())
        );
        let [(name, pid)] = guard.pids().try_into().expect("one runs");
        assert_eq!(name, "postgres");
        let connect = || {
            let mut config = ::postgres::Config::new();
            config.host("127.0.0.1").port(database.port).user("postgres").dbname(&database.database);
            config.connect(NoTls).expect("it takes connections")
        };
        let one =
            |client: &mut Client, sql: &str| -> String { client.query_one(sql, &[]).expect("SQL").get(0) };
        let mut client = connect();
        assert_eq!(one(&mut client, "SELECT name FROM pets"), "Rex");
        assert_eq!(one(&mut client, "SHOW shared_buffers"), "16MB");
        assert_eq!(one(&mut client, "SHOW fsync"), "on");
        let data = one(&mut client, "SHOW data_directory");
        client.batch_execute("INSERT INTO visits VALUES (1)").expect("SQL");
        guard.reset(&setup).expect("it is put back");
        assert_eq!(one(&mut client, "SELECT count(*)::text FROM visits"), "0");
        let folder = Path::new(&data).parent().expect("the guard made it");
        assert!(folder.exists());
        let logs = guard.down();
        assert!(logs[0].text.contains("ready to accept connections"), "{}", logs[0].text);
        assert!(!folder.exists(), "{}", folder.display());
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        assert_eq!(fs::read_dir(fixture.path("disk")).expect("ours").count(), 0);
    }
}

fn refusals() {
    if !installed() {
        return;
    }
    let fixture = Fixture::new();
    let good = database(&fixture);
    let mut guard = guard();
    let mut refused =
        |database: &PostgresSetup| guard.up(&setup(database), &never_stop).expect_err("it cannot start");

    let mut wrong = good.clone();
    fs::write(fixture.path("2.sql"), "INSERT INTO pets VALUES ('Ünal');\n\nINSERT INTO cats VALUES (1);")
        .expect("ours");
    let error = refused(&wrong);
    assert!(matches!(&error, Error::Sql { line: Some(3), .. }), "{error:?}");
    assert!(
        error.to_string().contains("2.sql', line 3: relation \"cats\" does not exist (42P01)"),
        "{error}"
    );

    wrong.settings.push(("no_such_setting".to_owned(), "1".to_owned()));
    let error = refused(&wrong).to_string();
    assert!(error.contains("postgres ended with") && error.contains("no_such_setting"), "{error}");

    // It takes longer than it may, and is then stopped early.
    let mut slow = good.clone();
    fs::write(fixture.path("2.sql"), "SELECT pg_sleep(600);").expect("ours");
    slow.within = Nanos::from_secs(8);
    let error = refused(&slow).to_string();
    assert!(error.contains("takes longer than 8 s"), "{error}");
    assert!(guard.pids().is_empty());

    let mut absent = good.clone();
    absent.seed.push(fixture.path("absent.sql").to_str().expect("ours").to_owned());
    let error = Guard::check(&setup(&absent)).expect_err("it is not there").to_string();
    assert!(error.contains("absent.sql': cannot be read"), "{error}");

    let holder = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut taken = good;
    taken.port = holder.local_addr().expect("it is bound").port();
    let error = Guard::check(&setup(&taken)).expect_err("it is taken");
    assert!(matches!(error, Error::PortTaken { .. }), "{error:?}");
}
