//! Any setup, and experiments with it.

use super::{text, time};
use crate::*;
use proptest::prelude::*;
use std::fmt::Write as _;
use units::{Bytes, Nanos};

/// A plan file that uses all of an experiment.
pub(super) const TRIED: &str = "
[target]
url = 'http://127.0.0.1:8080/'
[postgres]
port = 5555
reset = 'r.sql'
[need.cache]
command = 'cache'
[service]
command = 'app \"a b\"'
env = { A = '{env:B}', POOL = '10' }
files = { 'a/b.yml' = 'x' }
ready = 'log up'
memory = '1GiB'
[[variant]]
name = 'more'
factor = 'threads'
env = { A = '2' }
[[variant]]
name = 'pool'
factor = 'pool'
args = '-v'
[[hypothesis]]
variant = 'more'
measure = 'p99'
at = '200/s'
[try]
cross = ['threads', 'pool']
budget = '1h'
[quick]
most = 4
";

fn limits() -> impl Strategy<Value = ResourceLimits> {
    let cpus = prop::option::of(0.01..64.0_f64);
    let memory = prop::option::of((1_u64 << 20)..1 << 50);
    let pids = prop::option::of(1_u64..1_000_000);
    let cores = prop::collection::btree_set(0_u32..64, 0..3);
    (cpus, memory, pids, cores).prop_map(|(cpus, memory, pids, cores)| ResourceLimits {
        cpus,
        memory: memory.map(Bytes),
        pids,
        cores: cores.into_iter().collect(),
    })
}

/// As parsed: for a program, anything but its placeholders is text.
fn value() -> impl Strategy<Value = Template> {
    text().prop_filter_map("no URL", |text| {
        let of = |text: &str| Template::parse(text).ok();
        let mut template = Template::default();
        for piece in of(&text)?.pieces {
            match piece {
                TemplatePiece::Secret { .. } => template.pieces.push(piece),
                other => template.append(Template::literal(other.to_string())),
            }
        }
        (!text.contains("://") && !text.contains('\0')).then_some(template)
    })
}

fn pairs<T: std::fmt::Debug>(
    name: &'static str,
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<(String, T)>> {
    prop::collection::btree_map(name, value, 0..3).prop_map(|map| map.into_iter().collect())
}

prop_compose! {
    fn program(name: &'static str)(
        prepare in prop::collection::vec("[ -~]{0,5}", 0..3), first in "[!-z]{1,5}",
        rest in prop::collection::vec(value(), 0..3), folder in "[a-z.]{1,4}(/[a-z. ]{1,3}x)?",
        env in pairs("[A-Z]{1,2}", value()), files in pairs("[a-z]{1,3}(/[a-z]{1,2} x)?", value()),
        ready in prop_oneof![
            Just(ReadyCondition::Http("http://h:1/a?b=c".to_owned())), (1_u16..).prop_map(ReadyCondition::Port), Just(ReadyCondition::Started),
            "[!-~]([ -~]{0,5}[!-~])?".prop_map(ReadyCondition::Log),
        ],
        within in time(), grace in time(), limits in limits(),
        stop in prop_oneof![Just("TERM"), Just("INT"), Just("QUIT"), Just("HUP"), Just("KILL")],
    ) -> Program {
        let command = std::iter::once(Template::literal(first)).chain(rest).collect();
        Program {
            name: name.to_owned(), prepare, command, folder, env, files, ready, within, grace, limits,
            stop: stop.to_owned(),
        }
    }
}

prop_compose! {
    fn postgres()(
        port in 1_u16.., database in "[!-~][ -~]{0,5}", seed in prop::collection::vec("[a-z]{1,3}\\.sql", 0..3),
        reset in prop::option::of(Just("r s.sql".to_owned())), settings in pairs("[a-z_.]{1,5}", "[ -~]{0,6}"),
        data in prop::option::of(Just("/mnt/a b".to_owned())), within in time(), limits in limits(),
    ) -> PostgresSetup {
        PostgresSetup { port, database, seed, reset, settings, data, within, limits }
    }
}

/// What a plan can say: without a service only the database says how the state is reset.
pub(super) fn setup() -> impl Strategy<Value = Setup> {
    let needs = (prop::option::of(postgres()), prop::option::of(program("cache")), any::<bool>());
    let reset = prop_oneof![Just(ResetMethod::Restart), Just(ResetMethod::Sql), Just(ResetMethod::None)];
    (needs, prop::option::of(program("service")), reset).prop_filter_map(
        "it starts something",
        |((postgres, program, is_first), service, reset)| {
            let can_reset = postgres.as_ref().is_some_and(|postgres| postgres.reset.is_some());
            let mut needs: Vec<Dependency> = postgres
                .map(Dependency::Postgres)
                .into_iter()
                .chain(program.map(Dependency::Program))
                .collect();
            if is_first {
                needs.reverse();
            }
            let reset = match (&service, reset) {
                (None, _) if can_reset => ResetMethod::Sql,
                (None, _) => ResetMethod::None,
                (Some(_), ResetMethod::Sql) if !can_reset => ResetMethod::None,
                (Some(_), reset) => reset,
            };
            (service.is_some() || !needs.is_empty()).then_some(Setup { needs, service, reset })
        },
    )
}

/// A valid experiment file.
pub(super) fn experiment() -> impl Strategy<Value = String> {
    let variant = (any::<bool>(), 0_u32..4, prop::option::of(0.01..9.0_f64), any::<bool>());
    let at = prop_oneof![
        (1.0..100.0_f64).prop_map(|share| format!("{share}%")),
        (0.001..1e6_f64).prop_map(|rate| format!("{rate}")),
        (1_u32..9999).prop_map(|count| format!("{count} connections")),
    ];
    let asked = (0_usize..9, 0_usize..9, 0_usize..8, at, 0.001..1.0_f64, 0_u32..3);
    let table = (
        prop::collection::btree_set(1_u32..9999, 0..3),
        prop::collection::btree_set(1_u32..101, 0..3),
        any::<bool>(),
        any::<bool>(),
    );
    let rest = (1_u32..5, 2_u32..9, 0_u32..9, prop::option::of(time()), time(), 0.5..0.9999_f64);
    (
        prop::collection::vec(variant, 1..4),
        prop::collection::vec(asked, 0..4),
        0_u32..4,
        table,
        rest,
    )
        .prop_map(|(variants, asked, workloads, table, rest)| {
            let mut file = "[target]\nurl = 'h'\n[[request]]\nname = 'a'\n[[request]]\nname = 'b \"c\"'\nmethod = 'POST'\n\
                            [postgres]\nport = 5\n[service]\ncommand = 'app'\nenv.X = 1\n"
                .to_owned();
            let mut factors = std::collections::BTreeSet::new();
            for (n, (is_level, factor, cpus, is_data)) in variants.iter().enumerate() {
                let _ = writeln!(file, "[[variant]]\nname = 'v {n}'\nenv = {{ V{n} = '{{env:A}}', X = {n} }}");
                let _ = writeln!(file, "files = ['f{n}=\\t']\nrelieves = ['pool', 'r{n}']\nargs = ['-{n}']");
                if *is_level {
                    factors.insert(*factor);
                    let _ = writeln!(file, "factor = 'f{factor}'");
                }
                if let Some(cpus) = cpus {
                    let _ = writeln!(file, "cpus = {cpus}");
                }
                if *is_data {
                    let _ = writeln!(file, "data = '/mnt'\nsettings = {{ a = {n} }}\ncores = [{n}]");
                }
            }
            let names = ["all", "a", "b \"c\""];
            let chosen: &[&str] = match workloads {
                0 => &names[..1],
                1 => &names[1..],
                2 => &names[..],
                _ => &names[2..],
            };
            for (n, (variant, baseline, measure, at, effect, on)) in asked.iter().enumerate() {
                let (variant, baseline) = (variant % variants.len(), baseline % (variants.len() + 1));
                let _ = writeln!(file, "[[hypothesis]]\nvariant = 'v {variant}'\neffect = {effect}");
                if baseline < variants.len() && baseline != variant {
                    let _ = writeln!(file, "baseline = 'v {baseline}'\nname = 'asked {n}'");
                }
                let measure = ArmMeasure::ALL[*measure];
                let _ = writeln!(file, "measure = '{}'", measure.name());
                if measure != ArmMeasure::Capacity {
                    let _ = writeln!(file, "at = '{at}'");
                }
                if let Some(on) = chosen.get(*on as usize) {
                    let _ = writeln!(file, "on = '{on}'");
                }
            }
            let (connections, at, capacity, is_crossed) = table;
            let connections: Vec<u32> = connections.into_iter().collect();
            let _ = writeln!(file, "[try]\nworkloads = {chosen:?}\nconnections = {connections:?}");
            let at: Vec<String> = at.iter().map(|share| format!("{share}%")).collect();
            let _ = writeln!(file, "at = {at:?}");
            if is_crossed && !factors.is_empty() {
                let factors: Vec<String> = factors.iter().map(|factor| format!("f{factor}")).collect();
                let _ = writeln!(file, "cross = {factors:?}");
            }
            if is_crossed {
                let _ = writeln!(file, "measure = 'cpu'\neffect = 0.25");
            }
            // Otherwise some variants might not be asked about.
            let _ = writeln!(file, "capacity = {}", capacity || connections.is_empty() && at.is_empty());
            let (pilot, least, more, budget, hold, confidence) = rest;
            let Nanos(hold) = hold;
            let _ = writeln!(file, "pilot = {pilot}\nleast = {least}\nmost = {}", least + more);
            let _ = writeln!(file, "hold = '{hold}ns'\nwarm = '{}ns'\nconfidence = {confidence}", hold / 2);
            if let Some(Nanos(budget)) = budget {
                let _ = writeln!(file, "budget = '{budget}ns'");
            }
            file
        })
}
