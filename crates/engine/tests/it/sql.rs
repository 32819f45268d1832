//! The engine against a PostgreSQL server, which counts what it has done.

use plan::{Draft, Plan, PlanCommand};
use postgres::{Client, NoTls};
use record::Slice;
use schedule::Schedule;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::time::{Duration, Instant};
use testbed::TestPostgres;
use torment_engine::{
    Engine, EngineConfig, Exchange, LoadCommand, LoadGenerator, OfferedLoad, ResolvedTarget, connect_once,
    exchanges_once,
};
use units::{Nanos, Rate};

const MS: Nanos = Nanos::from_millis(1);

/// A job for the server at this URL. Each statement has a request of its own, all equally often.
fn job(url: &str, statements: &[&str]) -> EngineConfig {
    let mut text = format!("target.url = '{url}'\ngenerator.pool = 8\n");
    for (number, statement) in statements.iter().enumerate() {
        text += &format!("[[request]]\nname = 's{number}'\nsql = '''{statement}'''\ntimeout = '20s'\n");
    }
    let checked = || {
        let mut plan =
            Draft::from_toml("plan.toml", &text)?.check(PlanCommand::Find, &mut |_| Ok(Vec::new()))?;
        plan.bind(|name| Err(name.to_owned()), |name| Err(name.to_owned()))?;
        Ok::<Plan, plan::Error>(plan)
    };
    let plan = checked().unwrap_or_else(|e| panic!("{text}\n{e}"));
    EngineConfig {
        secrets: plan.redactor(),
        endpoint: ResolvedTarget::resolve(&plan.target).expect("an address"),
        arrivals_limit: plan.arrivals_limit(),
        flows: plan.flows,
        generator: plan.generator,
        loops: 1,
        deadline: None,
    }
}

/// Offers this many arrivals a second for this long and waits for their results.
fn offer(job: &EngineConfig, rate: f64, time: Nanos, meanwhile: impl FnOnce() + Send) -> Slice {
    let mut engine = Engine::start(job).expect("starts");
    let load = OfferedLoad::Open(Schedule::constant(Rate(rate), time));
    let counted = std::thread::scope(|scope| {
        scope.spawn(meanwhile);
        engine.run_trial(&load, Nanos::from_secs(20), &mut |_| {}, &mut |_| {}, &mut |_, _| {
            LoadCommand::Continue
        })
    });
    engine.settle(Nanos::from_secs(20), &|| false).expect("everything is answered");
    assert_eq!(counted.total.outcomes.total(), counted.total.due, "every arrival has one outcome");
    counted.total
}

/// A hundred arrivals: how many were answered, and why the others were not.
fn hundred(job: &EngineConfig) -> (u64, Vec<(String, u64)>) {
    let total = offer(job, 400.0, MS * 250, || {});
    assert_eq!(total.due, 100);
    (total.outcomes.ok, failures(&total))
}

fn failures(total: &Slice) -> Vec<(String, u64)> {
    total.failures.iter().map(|(why, count)| (why.to_string(), *count)).collect()
}

/// The exchange of the first statement, sent once.
fn once(job: &EngineConfig) -> Exchange {
    exchanges_once(job, true).expect("an answer").pop().expect("one")
}

/// Why there is no connection.
fn refused(url: &str, statement: &str) -> String {
    connect_once(&job(url, &[statement])).expect_err("nobody gets in").to_string()
}

/// Another session at the server.
fn client(server: &TestPostgres) -> Client {
    Client::connect(&server.url(), NoTls).expect("the server answers")
}

fn setting(client: &mut Client, name: &str) -> String {
    client.query_one(&format!("show {name}"), &[]).expect("a setting").get(0)
}

/// The server's URL for another user.
fn login(server: &TestPostgres, user: &str) -> String {
    server.url().replace("postgres@", &format!("{user}@"))
}

/// Creates a file owned by the server that nobody else may read.
fn give(file: &Path, content: &str) {
    let folder = std::fs::metadata(file.parent().expect("a folder")).expect("it is there");
    std::fs::write(file, content).expect("writable");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    chown(file, Some(folder.uid()), Some(folder.gid())).expect("it may be given away");
}

/// From the next connection on; the other settings are reloaded from their files.
fn turn_tls_on(other: &mut Client) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let data = setting(other, "data_directory");
    give(&Path::new(&data).join("server.crt"), &cert.pem());
    give(&Path::new(&data).join("server.key"), &signing_key.serialize_pem());
    other.batch_execute("alter system set ssl = on").expect("done");
    other.batch_execute("select pg_reload_conf()").expect("done");
}

#[test]
fn whoever_may_gets_in() {
    let Some(server) = TestPostgres::start() else { return };
    let mut other = client(&server);
    other
        .batch_execute(
            "set password_encryption = 'scram-sha-256'; create role s login password 'gehe''im ä';
             set password_encryption = 'md5'; create role m login password 'gehe''im ä';
             create role p login password 'gehe''im ä'; create role t login connection limit 1",
        )
        .expect("done");
    let plain = "local all all trust\nhost all s all scram-sha-256\nhost all m all md5\nhost all p all password\n\
                 host all all all trust\n";
    let hba = setting(&mut other, "hba_file");
    give(Path::new(&hba), plain);
    other.batch_execute("select pg_reload_conf()").expect("done");

    for user in ["postgres", "s:gehe%27im%20%C3%A4", "m:gehe%27im%20%C3%A4", "p:gehe%27im%20%C3%A4"] {
        assert_eq!(hundred(&job(&login(&server, user), &["select 1"])), (100, vec![]), "{user}");
    }
    for user in ["s", "m", "p"] {
        let why = refused(&login(&server, &format!("{user}:falsch")), "select 1");
        let expected =
            format!("the server says: password authentication failed for user \"{user}\" (28P01); check");
        assert!(why.contains(&expected), "{why}");
        let why = refused(&login(&server, user), "select 1");
        assert!(why.contains(&format!("wants a password for user \"{user}\", and none is given")), "{why}");
        assert!(!why.contains("falsch"));
    }
    let why = refused(&login(&server, "nobody"), "select 1");
    assert!(why.contains("says: role \"nobody\" does not exist (28000)"), "{why}");
    let why = refused(&format!("{}x", server.url()), "select 1");
    assert!(why.contains("says: database \"postgresx\" does not exist (3D000)"), "{why}");
    let _held = Client::connect(&login(&server, "t"), NoTls).expect("the only one");
    let why = refused(&login(&server, "t"), "select 1");
    assert!(why.contains("too many connections for role \"t\" (53300); --pool is 8: lower it"), "{why}");

    let socket = setting(&mut other, "unix_socket_directories").replace('/', "%2F");
    let port = setting(&mut other, "port");
    let job = job(&format!("postgres://postgres@{socket}:{port}/postgres"), &["select 1"]);
    assert_eq!(hundred(&job), (100, vec![]));

    let why = refused(&format!("{}?sslmode=require", server.url()), "select 1");
    assert!(why.contains("the server has no TLS"), "{why}");
    give(Path::new(&hba), &plain.replace("host ", "hostssl "));
    turn_tls_on(&mut other);
    let url = format!("{}?sslmode=require", login(&server, "s:gehe%27im%20%C3%A4"));
    // Fails unless the session is encrypted.
    let statement = "select 1 / count(*) from pg_stat_ssl where pid = pg_backend_pid() and ssl";
    assert_eq!(hundred(&self::job(&url, &[statement])), (100, vec![]));
    let why = refused(&server.url(), "select 1");
    assert!(why.contains("no pg_hba.conf entry for host") && why.contains("no encryption"), "{why}");
    let why = refused(&url.replace("require", "verify-full"), "select 1");
    assert!(why.contains("invalid peer certificate"), "{why}");
}

#[test]
fn what_is_wrong_with_a_statement_is_said_before_any_load() {
    let Some(server) = TestPostgres::start() else { return };
    for (statement, expected) in [
        (
            "select * from nowhere",
            "refuses statement 1: relation \"nowhere\" does not exist (42P01) at: nowhere",
        ),
        ("selec 1", "refuses statement 1: syntax error at or near \"selec\" (42601) at: selec 1"),
        ("select 1 from", "refuses statement 1: syntax error at end of input (42601) at its end"),
        ("select oid_ from pg_class", "(42703) at: oid_ from pg_class"),
        ("select {counter} + {counter}", "(42725) at: + $2; Could not choose a best candidate operator."),
    ] {
        let why = refused(&server.url(), statement);
        assert!(why.contains(expected), "{why}");
    }
    let two =
        connect_once(&job(&server.url(), &["select 1", "select x"])).expect_err("no column").to_string();
    assert!(two.contains("refuses statement 2: column \"x\" does not exist (42703) at: x"), "{two}");
    for (statement, expected) in [("begin", "leaves a transaction open"), ("copy pg_class to stdout", "COPY")]
    {
        let why =
            once(&job(&server.url(), &[statement])).verdict.expect_err("cannot be measured").to_string();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn what_the_server_did_is_what_was_counted() {
    let Some(server) = TestPostgres::start() else { return };
    let mut other = client(&server);
    other
        .batch_execute(
            "create table t (k bigint primary key, v text not null); create table few (k int unique)",
        )
        .expect("done");
    let mut count = |what: &str| -> i64 { other.query_one(what, &[]).expect("a count").get(0) };

    let insert =
        job(&server.url(), &["insert into t values ({counter}, 'it''s ☂ \\ \"$1\" NULL {counter}')"]);
    assert_eq!(hundred(&insert), (100, vec![]));
    assert_eq!(count("select count(*) from t where v = 'it''s ☂ \\ \"$1\" NULL ' || k"), 100);
    let again = "database: 23505 duplicate key value violates unique constraint \"t_pkey\"".to_owned();
    assert_eq!(hundred(&insert), (0, vec![(again, 100)]));

    // Each value only once: the others fail, each with the text for its kind.
    let few = job(&server.url(), &["insert into few values ({random:1..20}) returning k, 'a', null"]);
    let (ok, failed) = hundred(&few);
    assert_eq!(ok as i64, count("select count(*) from few"));
    assert!(ok > 0 && failed.len() == 1 && failed[0].1 == 100 - ok, "{ok} {failed:?}");

    let mixed = job(
        &server.url(),
        &[
            "select k from t where k = {random:0..99}",
            "select '{counter}x'::text::int",
            "select 1 / (k - k) from t where k = {random:0..99}",
            "insert into t values ({random:1000..2000000000}, nullif({random:1..1}::int, 1)::text)",
            "update t set v = v where k = {random:0..99}",
            "delete from t where k = -{random:1..9}::int",
            "select",
        ],
    );
    let total = offer(&mixed, 1000.0, MS * 1000, || {});
    let known = total.failures.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        known,
        [
            "database: 22012 division by zero",
            "database: 22P02 invalid input syntax for type integer: \"…\"",
            "database: 23502 null value in column \"v\" of relation \"t\" violates not-null constraint",
        ]
    );
    assert_eq!(total.outcomes.ok + total.outcomes.failed, 1000);
    for (part, fails) in total.parts.iter().zip([false, true, true, true, false, false, false]) {
        assert_eq!((part.sent > 50, part.ok > 0, part.bad > 0), (true, !fails, fails), "{part:?}");
        assert_eq!(part.sent, part.ok + part.bad);
    }
    assert_eq!(
        once(&insert).request,
        "insert into t values ($1, $2)\n$1 = 0\n$2 = it's ☂ \\ \"$1\" NULL 0\n".as_bytes()
    );

    // Ten megabytes in one row, and in a million rows.
    for statement in [
        "select repeat('x', 10000000), {counter}",
        "select 'xxxxx' from generate_series(1, 1000000 + {random:0..0})",
    ] {
        let total = offer(&job(&server.url(), &[statement]), 4.0, MS * 1000, || {});
        let received = total.received_bytes > 40_000_000;
        assert_eq!((total.outcomes.ok, received), (4, true), "{:?}", failures(&total));
    }
    // More than the kernel accepts at once.
    let long = job(&server.url(), &[&format!("select length('{}{{random:1..9}}')", "x".repeat(3_000_000))]);
    let total = offer(&long, 8.0, MS * 500, || {});
    assert_eq!(total.outcomes.ok, 4, "{:?}", failures(&total));
}

/// More than rustls accepts at once, in the text of a statement and in a parameter: the rest waited for an
/// event that never came, the one at the login and the other with every request.
#[test]
fn large_statements_arrive_whole_through_tls() {
    let Some(server) = TestPostgres::start() else { return };
    turn_tls_on(&mut client(&server));
    let url = format!("{}?sslmode=require", server.url());
    for size in [60 << 10, 64 << 10, 65 << 10, 100_000, 1_300_000] {
        let text = "x".repeat(size);
        for (what, length) in [(text.clone(), size), (format!("{text}{{random:1..9}}"), size + 1)] {
            let statement = format!("select 1 / (length('{what}') = {length})::int");
            let total = offer(&job(&url, &[&statement]), 40.0, MS * 50, || {});
            assert_eq!((total.due, total.outcomes.ok), (2, 2), "{size}: {:?}", failures(&total));
        }
    }
}

#[test]
fn no_arrival_is_lost_with_a_session_or_with_the_server() {
    let Some(server) = TestPostgres::start() else { return };
    let mut other = client(&server);
    let pause = || std::thread::sleep(Duration::from_millis(700));
    let job = job(&server.url(), &["select pg_sleep(0.001), {counter}"]);
    let ours = "from pg_stat_activity where application_name = 'torment'";

    let total = offer(&job, 1000.0, MS * 2500, || {
        for _ in 0..3 {
            pause();
            let ended =
                other.execute(&format!("select pg_terminate_backend(pid) {ours}"), &[]).expect("done");
            assert!(ended > 0);
        }
    });
    // A session that ends between two statements costs nothing.
    let known = [
        "database: 57P01 terminating connection due to administrator command",
        "connection closed before the answer was complete",
    ];
    assert!(failures(&total).iter().all(|(why, _)| known.contains(&why.as_str())), "{:?}", failures(&total));
    assert!(
        total.outcomes.ok >= 2500 - 3 * 8 && total.connects >= 4,
        "{:?} {}",
        total.outcomes,
        total.connects
    );
    assert_eq!(total.outcomes.ok + total.outcomes.failed, 2500);

    // One killed session takes down the whole server, which then recovers.
    let total = offer(&job, 1000.0, MS * 3000, || {
        pause();
        let pid: i32 = other.query_one(&format!("select pid {ours} limit 1"), &[]).expect("one").get(0);
        let pid = rustix::process::Pid::from_raw(pid).expect("not zero");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is there");
    });
    assert!(
        total.outcomes.ok >= 100 && total.outcomes.failed > 0,
        "{:?} {:?}",
        total.outcomes,
        failures(&total)
    );
    // The time of recovery depends on the disk.
    let recovering = Instant::now();
    while Client::connect(&server.url(), NoTls).is_err() {
        assert!(recovering.elapsed() < Duration::from_secs(60), "the server does not recover");
        std::thread::sleep(Duration::from_millis(100));
    }
    let after = hundred(&job);
    assert_eq!(after, (100, vec![]), "it is back");
}

/// The server completes what it has begun whether or not somebody waits: one more session for each timeout
/// would be unrequested load.
#[test]
fn a_pool_does_not_grow_with_its_time_outs() {
    let Some(server) = TestPostgres::start() else { return };
    let mut job = job(&server.url(), &["select pg_sleep(0.1)"]);
    job.flows[0].steps[0].timeout = MS * 250;
    // Eight can serve 80 a second.
    let total = offer(&job, 400.0, MS * 2000, || {});
    assert_eq!((total.due, total.connects), (800, 8), "{:?} {:?}", total.outcomes, failures(&total));
    // Whoever has waited longest is served first, mostly in vain: how many are answered is chance.
    assert!(total.outcomes.timeout > 500, "{:?}", total.outcomes);
    assert_eq!(total.outcomes.total(), 800);
    // What is left of it delays nobody who can wait a little.
    job.flows[0].steps[0].timeout = MS * 5000;
    assert_eq!(offer(&job, 20.0, MS * 1000, || {}).outcomes.ok, 20);
}
