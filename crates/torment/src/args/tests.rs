use super::*;
use plan::{Error, Load, Plan, Task};

const PLAN: &str =
    "goal = 'p99<50ms'\n[target]\nurl = 'http://h/{file:n.csv:id}'\n[load]\nrate = 100\n[find]\nmax = 500\n";

fn read(file: &str) -> Result<Vec<u8>, String> {
    match file {
        "dir/p.toml" => Ok(PLAN.into()),
        "dir/flows.toml" => {
            Ok("target.url = 'h'\nload.rate = 1\nrequest = [{ url = '/a' }, { url = '/b' }]".into())
        }
        "dir/watched.toml" => Ok("target.url = 'h'\nwatch.pid = [1, 2]".into()),
        "bad.toml" => Ok("[load]\nrte = 5\n".into()),
        "latin.toml" => Ok(b"# \xe9".to_vec()),
        "dir/n.csv" | "n.csv" => Ok("id,name\n7,x y\n".into()),
        "body.json" => Ok("{\"id\": {counter}}".into()),
        _ => Err(format!("cannot read '{file}': no such file")),
    }
}

fn parse(line: &str) -> Result<Args, clap::Error> {
    // Quotes as in a shell, as far as these tests need them.
    let words = line.split('\'').enumerate().flat_map(|(i, part)| match i % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect::<Vec<_>>(),
        _ => vec![part.to_owned()],
    });
    Args::try_parse_from(std::iter::once("torment".to_owned()).chain(words))
}

fn plan(line: &str) -> Result<Plan, Error> {
    match parse(line).unwrap_or_else(|e| panic!("{line}\n{e}")).action {
        Action::Find(find) => find.plan(&mut read),
        Action::Run(run) => run.plan(&mut read),
        _ => panic!("{line} makes no plan"),
    }
}

#[test]
fn the_definition_is_consistent() {
    Args::command().debug_assert();
}

#[test]
fn lines_make_plans() {
    for (line, expected) in [
        ("find demo", "url = \"demo/queue?us=500\""),
        ("find demo/delay?ms=10 --max 3000", "max = 3000"),
        ("find h --careful --width 5%", "width = 0.05\ntrial = \"60s\"\nsum = \"60s\""),
        ("find h --from 100 --trial 2s --budget 1m", "trial = \"2s\"\nsum = \"6s\"\nbudget = \"60s\""),
        ("find h --goal 'p99<50ms'", "goal = \"p99<50ms\""),
        ("find dir/p.toml", "max = 500"),
        ("find dir/p.toml --goal zero-drop --max 900", "max = 900"),
        ("find http://h/p.toml", "url = \"http://h/p.toml\""),
        ("run h -r 500 -d 20s", "rate = 500\nduration = \"20s\""),
        ("run h -r 2.5k", "rate = 2500\nduration = \"30s\""),
        (
            "run h -r 100 --stages article",
            "stages = [\"30s:1\", \"30s:10\", \"30s:50\", \"30s:100\", \"60s:100\"]",
        ),
        ("run h -s 5s:10 -s 5s:20", "stages = [\"5s:10\", \"5s:20\"]"),
        ("run h --stages '5s:10 5s:20'", "stages = [\"5s:10\", \"5s:20\"]"),
        ("run h -c 64 -n 1000", "connections = 64\nrequests = 1000\n"),
        ("run h -c 64", "connections = 64\nduration = \"30s\""),
        ("run h -n 1000", "connections = 50\nrequests = 1000\n"),
        ("run h --once", "connections = 1\nrequests = 1\n"),
        ("run dir/p.toml --once", "connections = 1\nrequests = 1\n"),
        ("run h -r 5 --once", "rate = 5"),
        ("run dir/p.toml", "url = \"http://h/{file:dir/n.csv:id}\""),
        ("run dir/p.toml -r 7 -d 1s", "rate = 7\nduration = \"1s\""),
        ("run dir/p.toml -c 7", "[load]\nconnections = 7\nduration = \"30s\""),
        ("run h/{file:n.csv:name} -r 1", "url = \"http://h/{file:n.csv:name}\""),
        ("run h -r 1 -m put -H 'A: b' -H 'C: d'", "method = \"PUT\"\nheaders = [\"A: b\", \"C: d\"]"),
        ("run h -r 1 -b -5", "method = \"POST\"\nbody = \"-5\""),
        ("run h -r 1 --body-file body.json", "body = '{\"id\": {counter}}'"),
        ("run h -r 1 --form 'a=x y' --form b={uuid}", "body = \"a=x+y&b={uuid}\""),
        (
            "run h -r 1 --timeout 250ms --expect-status 2xx,404",
            "timeout = \"250ms\"\nexpect_status = [\"2xx\", \"404\"]",
        ),
        ("run https://h -k -r 1 --unix-socket /s", "unix_socket = \"/s\"\ninsecure = true"),
        ("run h -r 1 --arrivals poisson --seed 7", "arrivals = \"poisson\""),
        (
            "run h -r 1 --cores 0-2 --max-connections 9 --max-outstanding 8",
            "connections = 9\noutstanding = 8\nlateness = \"50us\"\ncores = [0, 1, 2]",
        ),
        ("-q run --format json h -r 1 --no-store", "rate = 1"),
        ("run https://h -r 1 --http1", "http = \"1\""),
        ("run https://h -r 1 --http2 --streams 8", "http = \"2\"\nstreams = 8"),
        ("run h -r 1 --basic 'me:{file:n.csv:name}'", "basic = \"me:{file:n.csv:name}\""),
        ("run h -r 1 --basic me:secret", "basic = \"me:{redacted}\""),
        (
            "run http://me:secret@h -r 1",
            "url = \"http://h/\"\n\n[request]\nmethod = \"GET\"\nbasic = \"me:{redacted}\"",
        ),
        ("run h -r 1 --bearer '{env:PATH}'", "headers = [\"Authorization: Bearer {env:PATH}\"]"),
        ("run h -r 1 -H 'Cookie: a=b'", "headers = [\"Cookie: a={redacted}\"]"),
        (
            "run h -r 1 --expect-body 'a b' --expect-header 'A: b' --expect-json /a/b=c=d",
            "expect_header = [\"A: b\"]\nexpect_body = [\"a b\"]\nexpect_json = [\"/a/b=c=d\"]",
        ),
        ("run h -r 1 --lateness 0", "lateness = \"0\""),
        ("run h -r 1 --lateness 2ms", "lateness = \"2ms\""),
        ("run h -r 1 --no-resend", "lateness = \"50us\"\nresend = false\n"),
        ("find h --no-resend", "resend = false\n"),
        (
            "find postgres://me@h/d --sql '3: select {1..9}' --sql 'select 1' --pool 4",
            "[[request]]\nname = \"select {1..9}\"\nweight = 3\nsql = \"select {1..9}\"\ntimeout = \"10s\"\n\n\
             [[request]]\nname = \"select 1\"\nweight = 1\nsql = \"select 1\"",
        ),
        ("find postgres://me@h/d --sql 'select 1' --pool 4", "[generator]\nconnections = 4\n"),
        ("run postgres://me:{env:PATH}@h --sql 'select 1' -c 5", "url = \"postgres://me:{env:PATH}@h/me\""),
        ("find h --no-watch", "[watch]\non = false\n"),
        ("run h -r 1 --pid 4 --pid 5 --no-attach", "[watch]\npid = [4, 5]\nattach = false\n"),
        ("run h -r 1 --cgroup system.slice/a.service", "[watch]\ncgroup = \"/system.slice/a.service\"\n"),
        ("run h -r 1 --command app.jar", "[watch]\ncommand = \"app.jar\"\n"),
        (
            "run h -r 1 --postgres postgres://me:{env:PATH}@h/d --metrics h:9/m",
            "[watch]\npostgres = \"postgres://me:{env:PATH}@h/d\"\nmetrics = \"http://h:9/m\"\n",
        ),
        ("find dir/watched.toml --command x --no-attach", "[watch]\ncommand = \"x\"\nattach = false\n"),
        ("run dir/flows.toml -H 'x: y'", "headers = [\"x: y\"]"),
    ] {
        let plan = plan(line).unwrap_or_else(|e| panic!("{line}\n{e}")).to_toml();
        assert!(plan.contains(expected), "{line}\nexpected: {expected}\nfound: {plan}");
    }
}

#[test]
fn wrong_values_are_named_by_their_option() {
    for (line, expected) in [
        ("run h", "how much load? Give --rate 1000"),
        ("find h --pid x", "--pid: 'x' is not the number of a process, a whole number from 1"),
        ("find h --pid 5000000", "--pid: '5000000' is too large; expected at most 4194304"),
        ("find h --pid 1 --command x", "--command: name the processes to watch in one way"),
        ("find h --command ''", "--command: expected a part of the command line"),
        (
            "find h --cgroup /sys/fs/cgroup/a",
            "--cgroup: '/sys/fs/cgroup/a' is not the path of a control group below its mount",
        ),
        ("find h --postgres h/d", "--postgres: 'h/d' is not the URL of a PostgreSQL, such as postgres://"),
        ("find h --postgres postgres://h/d", "--postgres: 'postgres://h/d' is not a URL with a user"),
        ("find h --metrics demo:x", "--metrics: 'http://demo:x' is not a URL with a port"),
        (
            "find h --metrics postgres://me@h",
            "--metrics: 'postgres://me@h' is not the URL of a metrics endpoint",
        ),
        ("run h -d 5s", "how much load? Give --rate 1000"),
        ("run h -r 0", "--rate: '0' is too low; expected a rate above 0"),
        ("run h -r -5", "--rate: '-5' is not a rate"),
        ("run h -r fast", "--rate: 'fast' is not a rate such as 1000"),
        ("run h -r 5 -d 30", "--duration: '30' is not a duration such as"),
        ("run h -r 5 -c 5", "--connections: connections make a closed loop"),
        ("run h -s 5s:10%", "--stage: '5s:10%' is not a stage: percent of what?"),
        ("run h -s 5s:10 -d 5s", "--duration: stages already say"),
        ("run h -r 5 -s 5s:10", "--rate: no stage is a percentage of it"),
        ("run h -r 5 -H X", "--header: 'X' is not a header, 'Name: value'"),
        (
            "run h -r 5 -H 'Content-Length: 5'",
            "--header: torment sets 'Content-Length' itself, from the body",
        ),
        ("run h -r 5 -b x --form a=b", "--form: a request has one body"),
        ("run h -r 5 --form a", "--form: 'a' is not a form field, name=value"),
        ("run h -r 5 --body-file x", "--body-file: cannot read 'x': no such file"),
        ("run h -r 5 --expect-status 99", "--expect-status: '99' is not a status"),
        ("run h -r 5 --timeout 0", "--timeout: '0' is too short; expected a time above 0"),
        ("run h -r 5 --arrivals odd", "--arrivals: 'odd' is neither even nor poisson"),
        ("run h -r 5 --cores a", "--cores: 'a' is not a list of processors"),
        ("run h/{random:1..} -r 5", "TARGET: '{random:1..}' is not a random number"),
        ("run 'http://h/a b' -r 5", "TARGET: 'http://h/a b' is not a URL without spaces"),
        ("run h -r 5 --basic me", "--basic: expected user and password"),
        ("run h -r 5 --bearer a -H 'Authorization: b'", "--bearer: give one kind of credentials"),
        (
            "run h -r 5 --bearer '{env:NOT_SET}'",
            "{env:NOT_SET}: the environment variable NOT_SET is not set; set it: NOT_SET=… torment",
        ),
        ("run h -r 5 --bearer '{secret:x}'", "{secret:x}: cannot read 'x': no such file"),
        (
            "run h -r 5 --bearer '{redacted}'",
            "--bearer: '{redacted}' is not a value: this secret was not kept",
        ),
        ("run demo -r 5 --http2", "--http2: only an http:// or https:// target speaks HTTP/2"),
        ("run h -r 5 --http1 --streams 5", "--streams: HTTP/1.1 has no streams"),
        ("run h -r 5 --pool 5", "--pool: only a postgres:// target has a pool"),
        ("run h -r 5 --sql 'select 1'", "--sql: a statement needs a database"),
        ("run postgres://me@h -r 5", "no statement for the database"),
        (
            "run postgres://me@h -r 5 --sql 'select 1' -H 'a: b'",
            "--header: only an http:// or https:// target",
        ),
        ("run postgres://me@h -r 5 --sql 'select 1' -b x", "--body: a statement has no body"),
        ("run postgres://h -r 5 --sql 'select 1'", "TARGET: 'postgres://h' is not a URL with a user"),
        ("run h -r 5 --expect-json a=b", "--expect-json: 'a' is not a JSON pointer"),
        ("run h -r 5 --lateness 5", "--lateness: '5' is not a duration"),
        (
            "run dir/flows.toml -m GET",
            "--method: the plan has 2 requests, and this would make them all alike",
        ),
        ("run demo -r 5 --unix-socket /s", "--unix-socket: only an http:// or https:// target"),
        ("run h/{file:n.csv:surname} -r 5", "n.csv:1:1: no column 'surname'; the file has: id, name"),
        ("run h/{file:x.csv:a} -r 5", "{file:x.csv:a}: cannot read 'x.csv': no such file"),
        ("run no.toml", "TARGET: cannot read 'no.toml': no such file"),
        ("run latin.toml", "TARGET: 'latin.toml' is not UTF-8 from byte 2 on"),
        ("run bad.toml", "bad.toml:2:1: unknown key 'rte' in [load]; did you mean 'rate'?"),
        ("run dir/p.toml -d 5x", "--duration: '5x' is not a duration"),
        ("find h --from 500 --max 400", "--from: the search from 500/s to 400/s has no room"),
        ("find h --width 0", "--width: 0 % is not above 0 %"),
        ("find h --trial 0s", "--trial: '0s' is too short; expected a time above 0"),
        ("find h --careful --budget 5s", "--budget: not enough for one trial of 60 s"),
        ("find h --goal fast", "--goal: 'fast' is not a goal such as zero-drop"),
        ("find dir/p.toml --from 500", "--from: the search from 500/s to 500/s has no room"),
    ] {
        let error = plan(line).expect_err(line).to_string();
        assert!(error.contains(expected), "{line}\nexpected: {expected}\nfound: {error}");
    }
}

#[test]
fn whom_to_watch() {
    let watching = |line: &str| match parse(line).unwrap_or_else(|e| panic!("{line}\n{e}")).action {
        Action::Watch(watch) => watch.request(&mut read),
        _ => panic!("{line} watches nobody"),
    };
    let at = |text: &str| text.parse().expect("an address");
    for (line, whom) in [
        ("watch 4711", WatchTarget::Process(4711)),
        ("watch :8080", WatchTarget::Port(8080)),
        ("watch [::1]:80", WatchTarget::At(vec![at("[::1]:80")])),
        ("watch localhost:80", WatchTarget::At(vec![at("127.0.0.1:80"), at("[::1]:80")])),
        (
            "watch --for 9s -- java -jar a.jar",
            WatchTarget::Program(["java", "-jar", "a.jar"].map(str::to_owned).to_vec()),
        ),
    ] {
        assert_eq!(watching(line).expect(line).whom, whom, "{line}");
    }
    let all =
        watching("watch 1 --for 2m --interval 5s --postgres postgres://me:{env:PATH}@h --metrics h:9/m");
    let all = all.expect("all is well");
    assert_eq!((all.time, all.interval), (Some(units::Nanos::from_secs(120)), units::Nanos::from_secs(5)));
    assert!(!all.asked.attach && all.asked.metrics_url().as_deref() == Some("http://h:9/m"), "{all:?}");
    assert!(all.asked.postgres_url().is_some_and(|url| !url.contains("{env:")));
    for (line, expected) in [
        ("watch 0", "WHOM: '0' is neither a process such as 4711"),
        ("watch :0", "WHOM: ':0' is neither a process"),
        ("watch host:80", "WHOM: 'host:80' is neither a process"),
        ("watch 1 --for 5", "--for: '5' is not a duration"),
        ("watch 1 --for 900ms", "--for: '900ms' is too short"),
        ("watch 1 --interval 0s", "--interval: '0s' is too short"),
        (
            "watch 1 --postgres postgres://me:{env:NOT_SET}@h",
            "{env:NOT_SET}: the environment variable NOT_SET is not set",
        ),
    ] {
        let error = watching(line).expect_err(line).to_string();
        assert!(error.contains(expected), "{line}\nexpected: {expected}\nfound: {error}");
    }
}

#[test]
fn wrong_lines_are_usage_errors() {
    for line in [
        "",
        "fnd demo",
        "find",
        "find a b",
        "find demo --rate 5",
        "run demo --max 5",
        "find demo --no-watch --pid 5",
        "run h -s 5s:5 --stages article",
        "run h --once --dry-run",
        "run h -r 1 --http1 --http2",
        "run h -r 1 --basic a:b --bearer c",
        "plan",
        "plan from-wsdl x",
        "plan check",
        "show a b",
        "explain a b",
        "watch",
        "watch 1 2",
        "watch 1 -- true",
        "rm",
        "list x",
        "list --since 2",
        "list --verdict fine",
        "compare",
        "compare a b --tolerance 5x",
        "name last",
        "name last a --remove",
        "tag last",
        "tag last =x",
        "run h -r 1 --name last~1",
        "-q -v list",
        "target --model fibers",
        "target --listen nowhere",
        "target --warming fast",
        "target --cores x",
        "completions cobol",
        "list --format xml",
    ] {
        let error = parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn the_built_in_service_is_configured() {
    let config = |line: &str| match parse(line).expect(line).action {
        Action::Target(target) => target
            .config()
            .map(|config| format!("{} {:?} {:?}", config.listen, config.model, config.database)),
        _ => panic!("{line}"),
    };
    for (line, expected) in [
        ("target", "127.0.0.1:8080 Pool { workers: 200, queue: 100000 } Temporary"),
        ("target --workers 5 --queue 0", "127.0.0.1:8080 Pool { workers: 5, queue: 0 } Temporary"),
        ("target --listen unix:/s --model threads", "unix:/s Threads Temporary"),
        ("target --listen 9000 --model async --workers 2", "127.0.0.1:9000 Async { loops: 2 } Temporary"),
        ("target --database x.db", "127.0.0.1:8080 Pool { workers: 200, queue: 100000 } Sqlite(\"x.db\")"),
    ] {
        assert_eq!(config(line).as_deref(), Ok(expected), "{line}");
    }
    assert!(config("target --model threads --workers 5").expect_err("no workers").starts_with("--workers:"));
    assert!(config("target --model async --queue 5").expect_err("no queue").starts_with("--queue:"));
}

#[test]
fn colour_follows_the_terminal_and_its_environment() {
    for (line, terminal, no_color, expected) in [
        ("list", true, None, true),
        ("list", false, None, false),
        ("list", true, Some("1"), false),
        ("list", true, Some(""), true),
        ("list --color always", false, Some("1"), true),
        ("list --color never", true, None, false),
    ] {
        let common = parse(line).expect(line).common;
        assert_eq!(common.colour(terminal, no_color.map(std::ffi::OsStr::new)), expected, "{line}");
    }
}

#[test]
fn a_run_named_once_is_a_load_of_one_request() {
    let Task::Run(Load::Closed { connections, requests, .. }) = plan("run demo --once").expect("valid").task
    else {
        panic!("a closed loop")
    };
    assert_eq!((connections, requests), (1, Some(1)));
}

/// `BLESS=1 cargo test -p torment-cli help` writes the files anew; look at the difference before you commit.
#[test]
fn help_reads_as_it_did() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden"));
    let mut torment = Args::command().term_width(100);
    torment.build();
    let names = [
        "find",
        "run",
        "show",
        "explain",
        "serve",
        "report",
        "export",
        "watch",
        "profile",
        "list",
        "compare",
        "name",
        "tag",
        "rm",
        "target",
        "worker",
        "attach",
        "image",
        "doctor",
        "selftest",
        "plan",
        "completions",
        "man",
    ];
    let mut pages = vec![("torment".to_owned(), torment.render_long_help().to_string())];
    for name in names {
        let command = torment.find_subcommand_mut(name).expect(name);
        pages.push((format!("torment-{name}"), command.render_long_help().to_string()));
    }
    let plan = torment.find_subcommand_mut("plan").expect("plan");
    for name in ["from-curl", "from-har", "from-openapi", "check", "reference"] {
        let command = plan.find_subcommand_mut(name).expect(name);
        pages.push((format!("torment-plan-{name}"), command.render_long_help().to_string()));
    }
    for (name, help) in pages {
        let file = folder.join(format!("{name}.txt"));
        // Trailing spaces say nothing and do not survive editors.
        let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&file, &help).expect("the folder can be written");
        }
        let golden = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(help, golden, "{name} --help");
    }
}

#[test]
fn a_number_that_is_none_is_said_to_be_none() {
    for typed in
        ["find threads --most x", "target --workers -1", "find processes --max 1.5 true", "list --limit many"]
    {
        let words = std::iter::once("torment").chain(typed.split(' '));
        let said = simplify_error(Args::try_parse_from(words).expect_err(typed)).to_string();
        assert!(!said.contains("invalid digit"), "{typed}: {said}");
    }
    let said = simplify_error(
        Args::try_parse_from(["torment", "find", "threads", "--most", "x"]).expect_err("no number"),
    );
    assert_eq!(said.kind(), clap::error::ErrorKind::ValueValidation);
    assert!(said.to_string().contains("'x' for '--most <COUNT>': expected a whole number"), "{said}");
}

#[test]
fn completions_and_manual_pages_are_written() {
    let mut out = Vec::new();
    for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
        out.clear();
        write_completions(shell, &mut out);
        assert!(String::from_utf8_lossy(&out).contains("expect-status"), "{shell}");
    }
    for (page, holds) in
        [(None, "torment"), (Some("find"), "torment\\-find"), (Some("target"), "\\-\\-listen")]
    {
        out.clear();
        write_man(page, &mut out).expect("memory takes every write");
        assert!(String::from_utf8_lossy(&out).contains(holds), "{page:?}\n{}", String::from_utf8_lossy(&out));
    }
    assert!(write_man(Some("fnd"), &mut out).is_err());
}
