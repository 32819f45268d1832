//! Any plan, printed and parsed again.

mod setup;

use super::read;
use crate::placeholder::NameScope;
use crate::*;
use proptest::prelude::*;
use units::{Nanos, Rate, Share};

const FILES: [&str; 4] = [
    setup::TRIED,
    include_str!("../../../../plans/flow.toml"),
    include_str!("../../../../plans/mix.toml"),
    super::flows::BUY,
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "\\PC{0,6}",
        Just("{\"id\": {1..5}, \"u\": \"{uuid}\"}".to_owned()),
        Just("'''\"\"\"\n\t\\ {random:-3..3}{counter}".to_owned()),
        Just("{file:a b.csv:c d}".to_owned()),
        Just("{users.id}{pets.first name}{env:A_1}{secret:a.txt}{token}{nothing}".to_owned()),
    ]
}

fn data() -> Vec<DataSet> {
    let set = |name: &str, file: &str, order| DataSet { name: name.to_owned(), file: file.to_owned(), order };
    vec![set("users", "a/users.csv", RowOrder::Random), set("pets", "pets.jsonl", RowOrder::Once)]
}

/// One request as written: parsed once it is known what earlier steps extract.
#[derive(Debug, Clone)]
struct RawRequest {
    path: String,
    headers: Vec<(String, String)>,
    basic: Option<&'static str>,
    body: Vec<u8>,
    expect: Vec<StatusRange>,
    method: &'static str,
    checks: Vec<AnswerCheck>,
    sql: &'static str,
    timeout: Nanos,
    think: Option<(Nanos, Nanos)>,
    takes: Vec<Extraction>,
}

fn checks() -> impl Strategy<Value = Vec<AnswerCheck>> {
    let headers = prop::collection::vec(("[A-Za-z-]{1,8}", "[!-~]{0,9}"), 0..2);
    let bodies = prop::collection::vec("\\PC{1,6}", 0..2);
    let values = prop::collection::vec(("(/[a-z]{0,3}(~0|~1)?){0,2}", text()), 0..2);
    (headers, bodies, values).prop_map(|(headers, bodies, values)| {
        let headers = headers.into_iter().map(|(name, value)| AnswerCheck::Header(name, value));
        let bodies = bodies.into_iter().map(AnswerCheck::Body);
        headers
            .chain(bodies)
            .chain(values.into_iter().map(|(at, value)| AnswerCheck::Json(at, value)))
            .collect()
    })
}

fn takes() -> impl Strategy<Value = Vec<Extraction>> {
    let from = prop_oneof![
        Just(ExtractionSource::Json("/a~1b/0".to_owned())),
        Just(ExtractionSource::Regex("id=\"(\\d+)\":=".to_owned())),
        Just(ExtractionSource::Header("Location".to_owned())),
        Just(ExtractionSource::Cookie("session".to_owned())),
    ];
    prop::collection::vec((prop_oneof![Just("token"), Just("id"), Just("x-1_")], from), 0..3).prop_map(
        |takes| takes.into_iter().map(|(name, from)| Extraction { name: name.to_owned(), from }).collect(),
    )
}

prop_compose! {
    fn raw()(
        path in prop_oneof![
            Just("/"), Just("/a?b={1..3}&c=%20"), Just("/{file:x.csv:y}/{uuid}"), Just("/{users.id}?{env:KEY}"),
            Just("{users.path}"), Just("/{token}"),
        ],
        headers in prop::collection::vec(("[A-Za-z-]{1,8}", "[!-~]{0,9}"), 0..4),
        basic in prop::option::of(prop_oneof![Just("{env:USER}:{env:PASSWORD}"), Just("{users.id}:{secret:x}")]),
        body in prop_oneof![text().prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..9)],
        expect in prop::collection::vec((100_u16..600, 0_u16..99), 1..4),
        method in prop_oneof![Just("GET"), Just("POST"), Just("PURGE")],
        is_form: bool, checks in checks(), takes in takes(),
        sql in prop_oneof![
            Just("select 1"), Just("select '{users.id}-it''s', {1..4}::int"), Just("select {token} -- {uuid}\n"),
            Just("select '{nothing}', $$x$$, E'\\''"),
        ],
        timeout in 1_u64..1_000_000_000_000, think in prop::option::of((0_u64..9_999_999_999, 1_u64..9_999_999_999)),
    ) -> RawRequest {
        let mut headers = headers;
        // Headers whose value would be hidden do not print as written.
        headers.retain(|(name, _)| secret::hide_header(name, Template::literal("x y")) == Template::literal("x y"));
        if is_form {
            headers.push(("content-type".to_owned(), form::CONTENT_TYPE.to_owned()));
        }
        RawRequest {
            path: path.to_owned(), headers, basic, body, method, checks, sql, takes,
            expect: expect.into_iter().map(|(from, n)| StatusRange(from, (from + n).min(599))).collect(),
            timeout: Nanos(timeout),
            think: think.map(|(least, more)| (Nanos(least), Nanos(least + more))),
        }
    }
}

impl RawRequest {
    fn step(&self, number: u32, is_sql: bool, taken: &[String], later: &[String]) -> Step {
        let data = data();
        let names = NameScope { data: &data, extracted: taken, later };
        let template = |text: &[u8]| Template::parse_with(text, &names);
        let (ask, takes) = if is_sql {
            let one = || Statement::parse("select 1", &names).expect("valid");
            (Payload::Sql(Statement::parse(self.sql, &names).unwrap_or_else(|_| one())), Vec::new())
        } else {
            let headers = self.headers.iter();
            let mut headers: Vec<_> = headers
                .filter_map(|(name, value)| Some((name.clone(), template(value.as_bytes()).ok()?)))
                .collect();
            if let Some(basic) = self.basic {
                let inner = TemplatePiece::Base64(template(basic.as_bytes()).expect(basic));
                headers.push((
                    "Authorization".to_owned(),
                    Template::from_pieces(vec![TemplatePiece::Literal(b"Basic ".to_vec()), inner]),
                ));
            }
            let mut request = Request {
                method: self.method.to_owned(),
                path: template(self.path.as_bytes()).unwrap_or_else(|_| Template::literal("/later")),
                headers,
                body: template(&self.body).unwrap_or_default(),
                expect: self.expect.clone(),
                checks: self.checks.clone(),
            };
            request.set_escaping();
            (Payload::Http(request), self.takes.clone())
        };
        let mut step = Step { name: String::new(), think: None, ask, timeout: self.timeout, takes };
        step.templates_mut().for_each(|template| template.step = number);
        step
    }
}

/// Weight, whether it is a flow with cookies, its steps.
fn flow() -> impl Strategy<Value = (f64, bool, Vec<RawRequest>)> {
    let weight = prop_oneof![Just(1.0), 0.001..1e6_f64];
    (weight, any::<bool>(), prop::collection::vec(raw(), 1..4))
}

fn built(flows: Vec<(f64, bool, Vec<RawRequest>)>, is_sql: bool) -> Vec<Flow> {
    let mut used = std::collections::BTreeSet::new();
    let mut names = |name: String| {
        let mut names = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name} ({n})") });
        names.find(|name| used.insert(name.clone())).expect("numbers do not end")
    };
    let mut all = Vec::new();
    for (number, (weight, is_flow, raws)) in flows.into_iter().enumerate() {
        let raws = if is_flow { &raws[..] } else { &raws[..1] };
        let takes = raws.iter().filter(|_| is_flow && !is_sql).flat_map(|raw| &raw.takes);
        let taken: Vec<String> = takes.map(|take| take.name.clone()).collect();
        let (mut steps, mut known) = (Vec::<Step>::new(), 0);
        for (number, raw) in (0..).zip(raws) {
            let (before, later) = taken.split_at(known);
            let mut step = raw.step(number, is_sql, before, later);
            if is_flow {
                step.think = raw.think.filter(|_| number > 0);
                step.name = format!("step {number}");
            } else {
                step.takes.clear();
                step.name = names(check::default_name(&step.ask));
            }
            known += step.takes.len();
            steps.push(step);
        }
        let cookies = is_flow && weight > 1.0 && steps.len() > 1 && !is_sql;
        let name = if is_flow { names(format!("flow {number}")) } else { steps[0].name.clone() };
        all.push(Flow { name, weight, cookies, steps });
    }
    all
}

fn target() -> impl Strategy<Value = Target> {
    let socket = prop_oneof![Just(None), Just(Some("/run/a \"b\".sock".into()))];
    let host = prop_oneof![Just("localhost"), Just("::1"), Just("10.0.0.1")];
    let http = (any::<bool>(), any::<bool>(), host, 1_u16.., socket);
    let http = http.prop_map(|(tls, insecure, host, port, unix_socket)| {
        let (http, streams) = match port % 3 {
            0 => (HttpVersion::One, Origin::DEFAULT_STREAMS),
            1 => (HttpVersion::Two, port.into()),
            _ => (HttpVersion::Either, Origin::DEFAULT_STREAMS),
        };
        Target::Http(Origin { insecure, unix_socket, http, streams, ..Origin::new(tls, host, port) })
    });
    let host = prop_oneof![Just("h"), Just("::1"), Just("/run/p g")];
    let password = prop_oneof![Just(None), Just(Some("{env:PGPASSWORD}")), Just(Some("{secret:a b.txt}"))];
    let sql = (host, 1_u16.., "\\PC{1,5}", "\\PC{1,5}", password, any::<bool>(), any::<bool>());
    let sql =
        sql.prop_filter("no placeholder", |(_, _, user, name, ..)| !format!("{user}{name}").contains('{'));
    let sql = sql.prop_map(|(host, port, user, name, password, tls, insecure)| {
        let tls = tls && !host.starts_with('/');
        let password = password.map(|text| Template::parse(text).expect(text));
        Target::Sql(DatabaseAddress {
            host: host.to_owned(),
            port,
            user,
            password,
            name,
            tls,
            insecure: tls && insecure,
        })
    });
    prop_oneof![Just(Target::Demo), Just(Target::Null), http, sql]
}

fn time() -> impl Strategy<Value = Nanos> {
    prop_oneof![(1_u64..1000).prop_map(Nanos::from_secs), (1_u64..1_000_000_000_000).prop_map(Nanos)]
}

fn task() -> impl Strategy<Value = Task> {
    let rate = || prop_oneof![(1_u32..9999).prop_map(|r| Rate(r.into())), (0.001..1e6_f64).prop_map(Rate)];
    let arrivals = || prop_oneof![Just(Arrivals::Even), Just(Arrivals::Poisson)];
    let stage = (time(), rate(), rate()).prop_map(|(duration, from, to)| Stage { duration, from, to });
    let open = (prop::collection::vec(stage, 1..5), arrivals())
        .prop_map(|(stages, arrivals)| Task::Run(Load::Open { stages, arrivals }));
    let closed = (1_u32..1000, prop::option::of(1_u64..), prop::option::of(time()))
        .prop_filter("it ends", |(_, requests, duration)| requests.is_some() || duration.is_some())
        .prop_map(|(connections, requests, duration)| {
            Task::Run(Load::Closed { connections, requests, duration })
        });
    let find = (
        rate(),
        1.1..100.0_f64,
        0.001..0.5_f64,
        time(),
        1_u64..9,
        any::<bool>(),
        prop::option::of(1_u64..9),
        arrivals(),
    );
    let find = find.prop_map(|(from, factor, width, trial, n, strict, budget, arrivals)| {
        let budget = budget.map(|n| trial * n);
        Task::Find(SearchPlan {
            from,
            max: from * factor,
            width: Share(width),
            trial,
            sum: trial * n,
            strict,
            budget,
            arrivals,
        })
    });
    prop_oneof![open, closed, find]
}

fn watch() -> impl Strategy<Value = WatchPlan> {
    let who = prop_oneof![
        prop::collection::vec(1_u32..4_000_000, 0..3)
            .prop_map(|pids| WatchPlan { pids, ..WatchPlan::default() }),
        Just(WatchPlan { cgroup: Some("/a b/c.service".to_owned()), ..WatchPlan::default() }),
        "[!-~]([ -~]{0,5}[!-~])?"
            .prop_map(|command| WatchPlan { command: Some(command), ..WatchPlan::default() }),
    ];
    let postgres = prop::option::of(target()).prop_map(|target| match target {
        Some(Target::Sql(database)) => Some(database),
        _ => None,
    });
    let metrics = prop::option::of(prop_oneof![
        Just("http://h:1/metrics?a={env:KEY}"),
        Just("https://{env:USER}@h/"),
        Just("http://[::1]:9/{secret:a b}"),
    ]);
    (who, any::<bool>(), any::<bool>(), postgres, metrics).prop_map(|(who, on, attach, postgres, metrics)| {
        let place = SourceLocation::Option("--metrics");
        let metrics = metrics.map(|url| MetricsEndpoint::parse(url, &place).expect(url));
        WatchPlan { on, attach, postgres, metrics, ..who }
    })
}

/// Only consistent combinations.
fn fleet(is_null: bool, is_watched: bool) -> impl Strategy<Value = FleetPlan> {
    let ssh = |hosts: &[&str]| FleetPlace::Ssh(hosts.iter().map(|host| (*host).to_owned()).collect());
    let join = || prop_oneof![Just(FleetPlace::Join(None)), Just(FleetPlace::Join(Some("b:7".to_owned())))];
    let counted = (prop_oneof![Just(FleetPlace::Here), join()], prop::option::of((1_u32..9, 0_u32..9)));
    let counted = counted.prop_map(|(on, workers)| {
        let workers = workers.map(|(least, more)| (least, least + more));
        FleetPlan { on: Some(on), workers, ..FleetPlan::default() }
    });
    let hosts = FleetPlan { on: Some(ssh(&["b", "me@c", "b"])), ..FleetPlan::default() };
    let workers = prop_oneof![Just(FleetPlan::default()), Just(hosts), counted];
    let watched = (join(), prop::option::of(1_u32..9)).prop_map(|(on, watchers)| (Some(on), watchers));
    let inside =
        prop_oneof![Just(FleetPlace::Inside(None)), Just(FleetPlace::Inside(Some("lab".to_owned())))];
    let inside = inside.prop_map(|on| (Some(on), None));
    let watched =
        prop_oneof![Just((None, None)), Just((Some(ssh(&["root@web", "db"])), None)), watched, inside];
    (workers, watched, time(), any::<bool>()).prop_map(move |(workers, (watch_on, watchers), wait, says)| {
        let (watch_on, watchers) = if is_null || !is_watched { (None, None) } else { (watch_on, watchers) };
        let mut fleet = FleetPlan { watch_on, watchers, ..workers };
        let any = |is: fn(&FleetPlace) -> bool| fleet.on.iter().chain(&fleet.watch_on).any(is);
        let wait = (says && any(|place| matches!(place, FleetPlace::Join(_)))).then_some(wait);
        let binary =
            (says && any(|place| matches!(place, FleetPlace::Ssh(_)))).then(|| "~/bin/torment".to_owned());
        fleet.worker_cpus = (says && fleet.on.is_some()).then_some(3);
        (fleet.wait, fleet.remote_binary) = (wait.map(|wait| wait.min(Nanos::from_secs(86_400))), binary);
        fleet
    })
}

/// A fleet makes fewer random arrivals.
fn is_too_fast(task: &Task) -> bool {
    let most = match task {
        Task::Find(find) => find.max,
        _ => Rate::ZERO,
    };
    most > Rate(2e6)
}

prop_compose! {
    pub(super) fn plans()(plan in single_plans())(
        fleet in fleet(plan.target == Target::Null, plan.watch.on), plan in Just(plan),
    ) -> Plan {
        let fleet = if is_too_fast(&plan.task) { FleetPlan::default() } else { fleet };
        Plan { fleet, ..plan }
    }
}

prop_compose! {
    fn single_plans()(
        target in target(), watch in watch(), flows in prop::collection::vec(flow(), 1..4), task in task(),
        loss in prop_oneof![Just(0.0), (0_u32..1_000_000).prop_map(|n| f64::from(n) / 1e8)],
        deadline in prop::option::of(time()),
        connections in 1_u32..100_000, outstanding in 1_u32.., seed: u64, lateness in 0_u64..1_000_000_000,
        cores in prop::collection::btree_set(0_u32..64, 0..3), resend: bool, setup in prop::option::of(setup::setup()),
    ) -> Plan {
        let cores = cores.into_iter().collect();
        let is_sql = matches!(target, Target::Sql(_));
        let mut generator =
            Generator { connections, outstanding, cores, lateness: Nanos(lateness), resend, seed };
        if let (true, Task::Run(Load::Closed { connections, .. })) = (is_sql, &task) {
            generator.connections = generator.connections.max(*connections);
        }
        let mut watch = watch;
        if let (None, Target::Sql(database)) = (&watch.postgres, &target) {
            watch.postgres = Some(database.clone());
        }
        Plan {
            watch, target, data: data(), flows: built(flows, is_sql), task,
            objective: Objective { loss: Share(loss), deadline }, generator, setup, fleet: FleetPlan::default(),
        }
    }
}

/// Found by the fuzzer `plan`: the measure of `[try]` was printed only where variants are crossed.
#[test]
fn an_experiment_that_crosses_nothing_keeps_its_measure() {
    let file = include_str!("../../../../plans/nothing.toml");
    let plan = super::plan(PlanCommand::Try, file).expect("it is an experiment");
    let Task::Try(experiment) = &plan.task else { unreachable!("it is read as one") };
    assert_eq!(experiment.said.measure, ArmMeasure::Throughput);
    assert_eq!(Plan::from_toml(&plan.to_toml(), PlanCommand::Try), Ok(plan));
}

/// Building an arbitrary plan unoptimised takes nearly all of the 2 MiB of a test thread's stack.
#[test]
fn a_printed_plan_reads_back_as_it_was() {
    let roomy = std::thread::Builder::new().stack_size(16 << 20).spawn(|| {
        proptest!(|(plan in plans())| {
            let toml = plan.to_toml();
            let back = Plan::from_toml(&toml, plan.command());
            prop_assert!(back.is_ok(), "{}\n{}", toml, back.expect_err("checked"));
            prop_assert!(plan.describe().len() >= 5);
            prop_assert_eq!(back.expect("checked"), plan, "{}", toml);
        });
    });
    let ended = roomy.expect("there is room for a thread").join();
    ended.unwrap_or_else(|why| std::panic::resume_unwind(why));
}

proptest! {
    #[test]
    fn a_printed_experiment_reads_back_as_it_was(text in setup::experiment()) {
        let plan = Draft::from_toml("p.toml", &text).and_then(|draft| draft.check(PlanCommand::Try, &mut read));
        prop_assert!(plan.is_ok(), "{}\n{}", text, plan.expect_err("checked"));
        let plan = plan.expect("checked");
        let toml = plan.to_toml();
        let back = Plan::from_toml(&toml, PlanCommand::Try);
        prop_assert!(back.is_ok(), "{}\n{}", toml, back.expect_err("checked"));
        let Task::Try(experiment) = &plan.task else { unreachable!("it is read as one") };
        for hypothesis in &experiment.hypotheses {
            let sum: f64 = hypothesis.contrast.iter().map(|(_, weight)| weight).sum();
            prop_assert!(sum.abs() < 1e-9 && hypothesis.contrast.len() > 1, "{:?}", hypothesis);
            let measured = &experiment.probes[hypothesis.probe].arms;
            prop_assert!(hypothesis.contrast.iter().all(|(arm, _)| measured.contains(arm)));
        }
        prop_assert!(plan.describe().len() >= 8);
        prop_assert_eq!(back.expect("checked"), plan, "{}", toml);
    }

    /// A plan file with a part missing or replaced.
    #[test]
    fn no_mistake_makes_it_panic(
        file in prop::sample::select(&FILES[..]), from in 0..2000_usize, length in 0_usize..40,
        text in prop_oneof![Just(String::new()), "[\\[\\]{}'\"=.:a-z0-9]{0,6}"],
    ) {
        let start = file.floor_char_boundary(from % file.len());
        let end = file.floor_char_boundary((start + length).min(file.len())).max(start);
        let file = format!("load.rate = 1\n{}{text}{}", &file[..start], &file[end..]);
        let file = if file.contains("[load]") { file.replacen("load.rate = 1\n", "", 1) } else { file };
        let checked = |command| {
            Draft::from_toml("p.toml", &file).and_then(|draft| draft.check(command, &mut read))
        };
        let _ = checked(PlanCommand::Try).map(|plan| (plan.describe(), plan.to_toml()));
        match checked(PlanCommand::Run) {
            Ok(mut plan) => {
                let bound = plan.bind(|_| Ok("name,id\na,1\n".to_owned()), |_| Ok("secret".to_owned()));
                prop_assert!(plan.describe().len() >= 5);
                let _ = (bound, plan.redactor(), plan.arrivals_limit(), plan.to_toml());
            }
            Err(error) => prop_assert!(error.to_string().lines().count() <= 3, "{}", error),
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,40}", key in 0..Key::ALL.len(), command in any::<bool>()) {
        let command = if command { PlanCommand::Run } else { PlanCommand::Find };
        let mut draft = Draft::default();
        draft.set(Key::Url, "TARGET", "demo");
        draft.set(Key::ALL[key].key, "--option", text.clone());
        if let Ok(plan) = draft.check(command, &mut read) {
            prop_assert!(!plan.describe().is_empty());
            let toml = plan.to_toml();
            let back = Plan::from_toml(&toml, command);
            prop_assert!(back.is_ok() || toml.contains("{redacted}"), "{}", toml);
        }
        let _ = Draft::from_toml("p.toml", &text).map_err(|e| e.to_string());
    }
}
