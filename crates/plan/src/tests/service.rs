//! What a plan starts.

use super::plan;
use crate::*;
use units::{Bytes, Nanos};

fn setup(text: &str) -> Setup {
    let text = format!("target.url = 'http://127.0.0.1:8080/'\nload.rate = 1\n{text}");
    plan(PlanCommand::Run, &text)
        .unwrap_or_else(|e| panic!("{text}\n{e}"))
        .setup
        .expect("it starts something")
}

fn service(text: &str) -> Program {
    setup(&format!("[service]\n{text}")).service.expect("a service")
}

fn words(program: &Program) -> Vec<String> {
    program.command.iter().map(Template::to_string).collect()
}

#[test]
fn nothing_is_started_if_nothing_is_said() {
    let plan = plan(PlanCommand::Find, "target.url = 'h'").expect("valid");
    assert_eq!(plan.setup, None);
}

#[test]
fn a_command_is_enough() {
    let Program { name, prepare, command, folder, env, files, ready, within, stop, grace, limits } =
        service("command = 'java -jar \"my app.jar\"'");
    assert_eq!(command, ["java", "-jar", "my app.jar"].map(Template::literal));
    assert_eq!((name.as_str(), folder.as_str(), stop.as_str()), ("service", "plans", "TERM"));
    assert_eq!((within, grace), (Nanos::from_secs(60), Nanos::from_secs(10)));
    assert_eq!((ready, limits), (ReadyCondition::Port(8080), ResourceLimits::default()));
    assert!(prepare.is_empty() && env.is_empty() && files.is_empty());
    assert_eq!(setup("[service]\ncommand = 'x'").reset, ResetMethod::None);
    let beside = Draft::from_toml("p.toml", "target.url = 'h'\nload.rate = 1\nservice.command = 'x'");
    let beside = beside.and_then(|draft| draft.check(PlanCommand::Run, &mut super::read)).expect("valid");
    assert_eq!(
        beside.setup.and_then(|setup| setup.service).map(|service| service.folder),
        Some(".".to_owned())
    );
}

#[test]
fn all_of_it() {
    let setup = setup(
        "[need.cache]\ncommand = 'redis-server'\n[postgres]\nport = 54329\ndatabase = 'clinic'\nseed = ['a.sql', '/b.sql']\n\
         reset = 'c.sql'\nsettings = { shared_buffers = '128MB', fsync = false, max_connections = 200 }\n\
         data = 'disk'\nwithin = '2m'\ncpus = 2\n\
         [service]\nprepare = 'mvn -q package'\ncommand = ['java', '-jar', 'a b.jar']\nfolder = '../app'\n\
         env = { PORT = 8080, DEBUG = true, HOME = '/x' }\nfiles = { 'conf/app.yml' = \"a: {b}\\n\" }\n\
         ready = 'http://127.0.0.1:8080/health'\nwithin = '5s'\nstop = 'INT'\ngrace = '1s'\ncpus = 1.5\nmemory = '2GiB'\n\
         pids = 500\ncores = ['0-1', 4]\n[need.queue]\ncommand = 'x'\nready = 'log is up'",
    );
    let [Dependency::Program(cache), Dependency::Postgres(postgres), Dependency::Program(queue)] =
        &setup.needs[..]
    else {
        panic!("{:?}", setup.needs)
    };
    assert_eq!((cache.name.as_str(), &cache.ready), ("cache", &ReadyCondition::Started));
    assert_eq!((queue.name.as_str(), &queue.ready), ("queue", &ReadyCondition::Log("is up".to_owned())));
    let text = |text: &str| text.to_owned();
    let expected = PostgresSetup {
        port: 54329,
        database: text("clinic"),
        seed: vec![text("plans/a.sql"), text("/b.sql")],
        reset: Some(text("plans/c.sql")),
        settings: vec![
            (text("shared_buffers"), text("128MB")),
            (text("fsync"), text("false")),
            (text("max_connections"), text("200")),
        ],
        data: Some(text("plans/disk")),
        within: Nanos::from_secs(120),
        limits: ResourceLimits { cpus: Some(2.0), ..ResourceLimits::default() },
    };
    assert_eq!(postgres, &expected);
    // A database with a reset file is reset by it.
    assert_eq!(setup.reset, ResetMethod::Sql);
    let service = setup.service.expect("a service");
    assert_eq!(service.prepare, ["mvn", "-q", "package"]);
    assert_eq!(words(&service), ["java", "-jar", "a b.jar"]);
    assert_eq!(service.folder, "plans/../app");
    let env: Vec<_> = service.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["PORT=8080", "DEBUG=true", "HOME=/x"]);
    assert_eq!(service.files, [(text("conf/app.yml"), Template::literal("a: {b}\n"))]);
    assert_eq!(service.ready, ReadyCondition::Http(text("http://127.0.0.1:8080/health")));
    let limits = ResourceLimits {
        cpus: Some(1.5),
        memory: Some(Bytes(2 << 30)),
        pids: Some(500),
        cores: vec![0, 1, 4],
    };
    assert_eq!(limits.to_string(), "1.5 processors, 2 GiB, 500 processes and threads, on processors 0, 1, 4");
    assert_eq!(service.limits, limits);
    assert_eq!((service.stop.as_str(), service.grace), ("INT", Nanos::from_secs(1)));
}

#[test]
fn a_database_alone_can_be_started() {
    let plan = plan(
        PlanCommand::Run,
        "target.url = 'postgres://postgres@127.0.0.1:5555/torment'\nrequest.sql = 'select 1'\nload.rate = 1\n\
         postgres.port = 5555",
    );
    let setup = plan.expect("valid").setup.expect("it starts something");
    let postgres = setup.postgres().expect("a PostgreSQL");
    assert_eq!((postgres.port, postgres.database.as_str(), &setup.service), (5555, "torment", &None));
}

#[test]
fn its_texts_are_filled_in_and_no_others() {
    let text = "target.url = 'h'\nload.rate = 1\n[need.db]\ncommand = 'db --key {secret:s.txt}'\n[service]\n\
                command = 'app {uuid} {env:MODE}'\nenv = { A = '{env:MODE}!' }\nfiles = { f = '{1..3} {env:MODE}' }";
    let mut plan = plan(PlanCommand::Run, text).expect("valid");
    plan.bind(
        |file| if file == "plans/s.txt" { Ok("geheim\n".to_owned()) } else { Err(file.to_owned()) },
        |name| Ok(format!("the {name}")),
    )
    .expect("all is there");
    let setup = plan.setup.as_ref().expect("it starts something");
    let service = setup.service.as_ref().expect("a service");
    let Dependency::Program(need) = &setup.needs[0] else { panic!("{:?}", setup.needs) };
    let text = |template: &Template| {
        let mut out = Vec::new();
        template.render(&super::who(7), 0, &mut out);
        String::from_utf8(out).expect("text")
    };
    assert_eq!(service.command.iter().map(text).collect::<Vec<_>>(), ["app", "{uuid}", "the MODE"]);
    assert_eq!(
        (text(&service.env[0].1), text(&service.files[0].1)),
        ("the MODE!".into(), "{1..3} the MODE".into())
    );
    assert_eq!(text(&need.command[2]), "geheim");
    assert_eq!(*plan.redactor().redact(b"--key geheim, the MODE"), *b"--key ***, ***");
}

#[test]
fn its_secrets_are_shown_nowhere() {
    for text in [
        "command = 'x'\nenv = { DB_PASSWORD = 'geheim' }",
        "command = 'x'\nenv = { MY_API_KEY = 'geheim' }",
        "command = 'x'\nenv = ['GITHUB_TOKEN=geheim']",
        "command = 'x'\nenv = { DATABASE_URL = 'postgres://me:geheim@h/d' }",
        "command = 'x'\nenv = { URL = 'jdbc:postgresql://h/d?user=me&password=geheim' }",
        "command = 'x --db postgres://me:geheim@h/d'",
        "command = ['x', '--spring.datasource.password=geheim']",
    ] {
        let file = format!("target.url = 'h'\nload.rate = 1\n[service]\n{text}");
        let found = plan(PlanCommand::Run, &file).unwrap_or_else(|e| panic!("{text}\n{e}"));
        for shown in [found.to_toml(), found.describe().join("\n"), format!("{found:?} {found:#?}")] {
            assert!(!shown.contains("geheim"), "{text}\n{shown}");
            assert!(!shown.replace([' ', '\n'], "").contains("103,101,104,101,105,109"), "{text}\n{shown}");
        }
        assert_eq!(*found.redactor().redact(b"geheim"), *b"***", "{text}");
        let error = Plan::from_toml(&found.to_toml(), PlanCommand::Run).expect_err(text).to_string();
        assert!(error.contains("this secret was not kept; give it again"), "{error}");
        for mistake in ["stop = 'STOP'", "x = 1"] {
            let file =
                file.replace('\n', ", ").replace("[service], ", "service = { ") + ", " + mistake + " }";
            let file = file.replacen(", ", "\n", 2);
            let error = plan(PlanCommand::Run, &file).expect_err(&file).to_string();
            assert!(error.contains("3:") && !error.contains("geheim"), "{error}");
        }
    }
}

#[test]
fn a_message_says_where_what_and_what_else() {
    const OK: &str = "[service]\ncommand = 'x'\n";
    for (text, expected) in [
        (
            "[service]\nfolder = 'x'",
            "1:2: no command; expected the program and its arguments, command = [\"java\"",
        ),
        ("[service]\ncommand = []", "1:2: no command; expected"),
        ("[service]\ncommand = ''", "1:2: no command; expected"),
        ("[service]\ncommand = ['']", "2:12: no command; expected"),
        (
            "[service]\ncommand = 5",
            "2:11: 'command' is a number; expected a list of words, or text in quotes",
        ),
        (
            "[service]\ncommand = \"java 'x\"",
            "plans/p.toml:2:11: a quote is not closed\n 2 | command = \"java 'x\"\n   |           ^^^^^^^^^",
        ),
        ("[service]\ncommand = \"a\\u0000b\"", "2:11: no program can be given a NUL character"),
        ("[service]\ncommand = '{env:}'", "2:11: '{env:}' is not an environment variable"),
        ("[service]\ncomand = 'x'", "2:1: unknown key 'comand' in [service]; did you mean 'command'?"),
        ("[service]\nport = 5", "2:1: unknown key 'port' in [service]; it belongs in [postgres]"),
        ("[servcie]\ncommand = 'x'", "1:2: unknown key 'servcie' at the top; did you mean 'service'?"),
        ("[[service]]\ncommand = 'x'", "'service' is a list; expected a section [service]"),
        ("[need]\ncommand = 'x'", "2:11: 'need' is text; expected a section [need.NAME]"),
        ("[need.a]\nreset = 'none'", "2:1: unknown key 'reset' in [need.NAME]"),
        ("[need.service]\ncommand = 'x'", "1:7: 'service' is not a name for a program: letters, digits"),
        ("[need.'a b']\ncommand = 'x'", "1:7: 'a b' is not a name for a program"),
        ("[need.a]\nready = 'started'", "1:7: no command; expected"),
        ("[[need.a]]\ncommand = 'x'", "'need' is a list; expected a section [need.NAME]"),
        (
            "ready = 'soon'",
            "3:9: this does not say when it is ready: expected \"http://127.0.0.1:8080/health\"",
        ),
        ("ready = 'port x'", "3:9: 'x' is not a port, 1 to 65535"),
        ("ready = 'port 70000'", "3:9: '70000' is not a port, 1 to 65535"),
        ("ready = 'log '", "3:9: this does not say when it is ready"),
        ("ready = 'https://h/'", "3:9: this does not say when it is ready"),
        ("ready = 'http://a b/'", "3:9: 'http://a b/' is not a URL"),
        ("ready = 'http://h/{uuid}'", "3:9: expected a URL without placeholders and without a password"),
        ("stop = 'TRM'", "3:8: 'TRM' is not known here; did you mean 'TERM'?"),
        ("within = '0s'", "3:10: '0s' is too short; expected a time above 0"),
        ("grace = 5", "3:9: '5' is not a duration"),
        ("cpus = 0", "3:8: '0' is not a number of processors such as 2 or 0.5, from 0.01 on"),
        ("cpus = 'all'", "3:8: 'all' is not a number of processors"),
        ("memory = '2 elephants'", "3:10: '2 elephants' is not a size such as 512, 64KiB or 2GiB"),
        ("memory = 2", "3:10: no program starts in less than 1 MiB"),
        ("pids = 0", "3:8: '0' is not a number of processes, a whole number from 1"),
        ("cores = '3-1'", "3:9: '3-1' is not a list of processors"),
        ("env = 'A=b'", "3:7: 'env' is text; expected a table such as { name = \"value\" }"),
        ("env = ['A=b', 'A=c']", "3:15: 'A' is given twice"),
        ("env = ['=b']", "3:8: no name; expected an environment variable, NAME=value"),
        ("files = { '../x' = '' }", "3:11: '../x' is not the path of a file below the program's folder"),
        ("files = { '/etc/x' = '' }", "3:11: '/etc/x' is not the path of a file below"),
        ("reset = 'never'", "3:9: 'never' is not known here; expected one of: restart, sql, none"),
        (
            "reset = 'sql'",
            "3:9: no SQL to restore the state: expected a [postgres] with reset = \"file.sql\"",
        ),
        ("[postgres]\ndatabase = 'x'", "3:2: no port for PostgreSQL; expected a free one"),
        ("[postgres]\nport = 0", "4:8: '0' is not a port, 1 to 65535"),
        ("[postgres]\nport = 1\ndatabase = ''", "5:12: expected the name of a database"),
        ("[postgres]\nport = 1\nseed = ['']", "5:9: expected the path of a file"),
        ("[postgres]\nport = 1\ndata = ''", "5:8: expected an existing folder, such as /mnt/fast"),
        (
            "[postgres]\nport = 1\nsettings = { 'a b' = 1 }",
            "5:14: 'a b' is not a setting such as shared_buffers",
        ),
        (
            "[postgres]\nport = 1\ncommand = 'x'",
            "5:1: unknown key 'command' in [postgres]; it belongs in [watch] or",
        ),
    ] {
        let own = text.starts_with("[s") || text.starts_with("[[") || text.starts_with("[need");
        let text = if own { text.to_owned() } else { format!("{OK}{text}") };
        let text = format!("{text}\n[target]\nurl = 'h'\n[load]\nrate = 5");
        let error = plan(PlanCommand::Run, &text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{text}\nexpected: {expected}\nfound: {error}");
        assert!(error.lines().count() <= 3, "{error}");
    }
    for target in ["demo", "null"] {
        let text = format!("target.url = '{target}'\nload.rate = 1\n{OK}");
        let error = plan(PlanCommand::Run, &text).expect_err(target).to_string();
        assert!(
            error.contains("3:2: when is the service ready? The target has no port that says so"),
            "{error}"
        );
    }
}
