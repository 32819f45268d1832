//! The reference page of all keys is true: its examples are plans, its defaults are what omitting a key gives.

use super::read;
use crate::key::{DefaultValue, Key, KeySpec};
use crate::{Draft, Error, Plan, PlanCommand, reference};

const SQL: &str = "[target]\nurl = 'postgres://me@h/d'\n";
const HTTP: &str = "[target]\nurl = 'http://h/'\n";
const TRIED: &str = "[target]\nurl = 'http://h/'\n[service]\ncommand = 'a'\n[postgres]\nport = 54329\n\
                     [[variant]]\nname = '400 threads'\nfactor = 'threads'\ncpus = 2\n\
                     [[variant]]\nname = 'pool of 20'\nfactor = 'pool'\npids = 9\n";

/// Plans that end in this section, one of which may take a key of it.
fn bases(section: &str) -> Vec<String> {
    let all = |bases: &[(&str, &str)]| bases.iter().map(|(plan, end)| format!("{plan}{end}")).collect();
    match section {
        "" => vec!["target.url = 'http://h/'\n".to_owned()],
        "target" => vec![HTTP.to_owned()],
        "data" => all(&[(HTTP, "[data.users]\nfile = 'u.csv'\n")]),
        "request" => all(&[(HTTP, "[[request]]\n"), (SQL, "[[request]]\nsql = 'select 1'\n")]),
        "flow" => all(&[(HTTP, "[[flow]]\nstep = [{ url = '/a' }, { url = '/b' }]\n")]),
        "flow.step" => all(&[
            (HTTP, "[[flow]]\n[[flow.step]]\nurl = '/a'\n[[flow.step]]\nurl = '/b'\n"),
            (SQL, "[[flow]]\n[[flow.step]]\nsql = 'select 1'\n"),
        ]),
        "load" => all(&[(HTTP, "[load]\nrate = 100\n"), (HTTP, "[load]\n")]),
        "fleet" => all(&[
            (HTTP, "[fleet]\n"),
            (HTTP, "[fleet]\non = 'ssh:b'\n"),
            (HTTP, "[fleet]\non = 'join'\nwatch_on = 'join'\n"),
        ]),
        "generator" => all(&[(HTTP, "[generator]\n"), (SQL, "[request]\nsql = 'select 1'\n[generator]\n")]),
        "service" => all(&[(HTTP, "[service]\ncommand = 'a'\n")]),
        "need" => all(&[(HTTP, "[need.x]\ncommand = 'a'\n")]),
        "postgres" => all(&[(HTTP, "[postgres]\nport = 54329\n")]),
        "variant" => all(&[(TRIED, "[try]\ncapacity = true\n[[variant]]\nname = 'v'\ncpus = 4\n")]),
        "hypothesis" => all(&[
            (TRIED, "[try]\ncapacity = true\n[[hypothesis]]\nvariant = '400 threads'\n"),
            (TRIED, "[try]\ncapacity = true\n[[hypothesis]]\nmeasure = 'p99'\nvariant = '400 threads'\n"),
        ]),
        "try" | "quick" => vec![format!(
            "{TRIED}[[hypothesis]]\nvariant = '400 threads'\n[[hypothesis]]\nvariant = 'pool of 20'\n[{section}]\n"
        )],
        _ => all(&[(HTTP, &format!("[{section}]\n"))]),
    }
}

fn plan(section: &str, text: &str) -> Result<Plan, Error> {
    let command = match section {
        "load" => PlanCommand::Run,
        "variant" | "hypothesis" | "try" | "quick" => PlanCommand::Try,
        _ => PlanCommand::Find,
    };
    let mut draft = Draft::from_toml("plans/p.toml", text)?;
    if section == "quick" {
        draft.apply_quick()?;
    }
    draft.check(command, &mut read)
}

/// The plan with this key, replacing one of that name in its last section.
fn with(base: &str, name: &str, value: &str) -> String {
    format!("{}{name} = {value}\n", without(base, name))
}

fn without(base: &str, name: &str) -> String {
    let (before, last) = base.split_at(base.rfind("\n[").unwrap_or(0));
    let kept = last.split_inclusive('\n').filter(|line| !line.starts_with(&format!("{name} = ")));
    before.chars().chain(kept.flat_map(str::chars)).collect()
}

fn each(mut check: impl FnMut(&str, &'static KeySpec)) {
    for word in Key::ALL {
        word.sections.iter().for_each(|section| check(section, word));
    }
}

#[test]
fn every_section_has_its_table_once() {
    let page = include_str!("../reference.md");
    for section in Key::SECTIONS.into_iter().chain(["", "flow.step"]) {
        let marker =
            if section.is_empty() { "{{keys}}".to_owned() } else { format!("{{{{keys {section}}}}}") };
        assert_eq!(page.matches(&marker).count(), 1, "{marker}");
    }
    assert_eq!(page.matches("{{").count(), Key::SECTIONS.len() + 2);
    let reference = reference();
    assert!(!reference.contains("{{"), "a table is missing");
    each(|section, word| assert!(reference.contains(&format!("\n| `{}` | ", word.name)), "{section}"));
}

#[test]
fn every_file_on_the_page_is_a_plan() {
    let page = reference();
    let files: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(files.len(), 6);
    for file in files {
        let section = ["[quick]", "[load]"].into_iter().find(|section| file.contains(section));
        let section = section.expect("it says what is done").trim_matches(['[', ']']);
        plan(section, file).unwrap_or_else(|e| panic!("{file}\n{e}"));
        plan("find", file).unwrap_or_else(|e| panic!("{file}\n{e}"));
    }
}

#[test]
fn every_example_of_a_key_is_understood() {
    each(|section, word| {
        let tried =
            bases(section).into_iter().map(|base| plan(section, &with(&base, word.name, word.example)));
        let errors: Vec<String> = tried.filter_map(Result::err).map(|e| e.to_string()).collect();
        assert!(errors.len() < bases(section).len(), "[{section}] {}\n{}", word.name, errors.join("\n"));
    });
}

#[test]
fn a_key_that_is_left_out_means_what_the_page_says() {
    let mut defaults = 0;
    each(|section, word| {
        let pairs = bases(section).into_iter().map(|base| (without(&base, word.name), base));
        match word.left_out {
            DefaultValue::Must => {
                let mut pairs = pairs.filter(|(without, with)| without != with);
                let (without, _) = pairs.next().unwrap_or_else(|| panic!("[{section}] {}", word.name));
                assert!(plan(section, &without).is_err(), "[{section}] {} may be left out", word.name);
            }
            DefaultValue::Is(value) => {
                let same = |(without, _): (String, String)| {
                    let parsed = plan(section, &with(&without, word.name, value)).ok()?;
                    let left_out = plan(section, &without).ok()?;
                    assert_eq!(parsed, left_out, "[{section}] {} = {value} is not the default", word.name);
                    Some(())
                };
                let mut pairs = pairs;
                assert!(pairs.find_map(same).is_some(), "[{section}] {} = {value}", word.name);
                defaults += 1;
            }
            DefaultValue::Means(_) => {}
        }
    });
    assert!(defaults > 40, "{defaults}");
}
