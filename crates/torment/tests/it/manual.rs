//! The manual is true: every output shown is what a command prints, and every option, command, exit code, link and page
//! exists.
//!
//! A block ```` ```console ```` begins with `$ torment …`. Its commands are run by the real binary, page by page, in an
//! empty folder with the example plans and their own store, and must print what is shown, except for numbers, times and
//! IDs (`output_match.rs`). `…` leaves lines out, `^C` is Ctrl-C, `$ echo $?` shows the exit code of the command before
//! it.
//!
//! `BLESS=1 cargo test -p torment-cli --test it manual` replaces outdated output by the actual one; check the diff.
//!
//! ```` ```console recorded=NAME ```` shows a command that takes too long, or needs too much, for a test: it was run
//! once, and its events are kept in `tests/recorded/NAME.ndjson.gz`. `torment show NAME` must print what is shown. Such
//! runs are in every page's store, so that other commands may show them too. To record one again, move its file to
//! `tests/earlier`, or delete it, and run `cargo test -p torment-cli --test it record -- --ignored`.
//!
//! Blocks ```` ```sh ````, and commands quoted in the text, are only parsed, by the command line's parser.

mod coverage;
mod images;
mod output_match;
mod pages;
pub mod recorded_runs;
mod shell_words;
mod shown_commands;

use crate::program::{LoadTurn, binary};
use shown_commands::{Shell, ShownCommand, bless, shown};
use std::process::Command;
use store::Store;

#[test]
fn every_recorded_run_is_shown() {
    let mut shown: Vec<String> = recordings().into_iter().filter_map(|shown| shown.recorded).collect();
    shown.sort();
    shown.dedup();
    assert_eq!(shown, recorded_runs::names(), "blocks with recorded=NAME, and the files in tests/recorded");
}

fn recordings() -> Vec<ShownCommand> {
    let pages = pages::pages();
    pages.iter().flat_map(shown).filter(|shown| shown.recorded.is_some()).collect()
}

/// Whether the command line's parser accepts it. Help ends it once everything before it is parsed, so nothing is run.
fn is_understood(command: &str) -> Result<(), String> {
    let mut words = shell_words::words(command);
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    words.insert(end, "--help".to_owned());
    let ended = Command::new(binary()).args(&words[1..]).output().expect("torment can be started");
    match ended.status.code() {
        Some(0) => Ok(()),
        _ => Err(String::from_utf8_lossy(&ended.stderr).into_owned()),
    }
}

mod load {
    use super::*;
    use crate::manual::pages::ManualPage;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::scope;

    /// Pages checked at once: they mostly wait for their commands.
    const READERS: usize = 4;

    #[test]
    fn what_is_shown_is_what_commands_print() {
        let _turn = LoadTurn::shared();
        let pages = pages::pages();
        let next = AtomicUsize::new(0);
        let read = || {
            let mut wrong = Vec::new();
            while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                wrong.extend(shown_otherwise(page));
            }
            wrong
        };
        let wrong: Vec<String> = scope(|scope| {
            let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
            readers
                .into_iter()
                .flat_map(|reader| reader.join().expect("it passes what it finds on"))
                .collect()
        });
        assert!(wrong.is_empty(), "{} outputs are shown otherwise:\n\n{}", wrong.len(), wrong.join("\n"));
    }

    /// A page's incorrect outputs, each with the actual one.
    fn shown_otherwise(page: &ManualPage) -> Vec<String> {
        let shown = shown(page);
        if shown.is_empty() {
            return Vec::new();
        }
        let desk = Shell::new();
        let (mut wrong, mut stale) = (Vec::new(), Vec::new());
        for shown in shown {
            let Err((real, why)) = desk.check(&shown) else { continue };
            let place = format!("{}:{}: {}", page.name, shown.from, shown.command);
            wrong.push(format!("{place}\nnot there: {why}\nbut this came:\n{}\n", real.join("\n")));
            stale.push((shown, real));
        }
        if std::env::var_os("BLESS").is_some() {
            bless(page, &stale);
        }
        wrong
    }

    /// Records missing runs, each by the commands that the manual shows.
    #[test]
    #[ignore = "makes the recorded runs that are missing, which takes as long as they do"]
    fn record() {
        let _turn = LoadTurn::shared();
        for shown in recordings() {
            let name = shown.recorded.expect("it is a recording");
            if recorded_runs::file(&name).exists() {
                continue;
            }
            let desk = Shell::new();
            println!("{name}: {}", shown.command);
            // A background process has a second to be ready, and ends with it.
            let script = shown.command.replace("&\n", "& started=\"$started $!\"\nsleep 1\n");
            let ended = desk
                .shell(&format!("trap 'kill $started' EXIT\n{script}"))
                .status()
                .expect("there is a shell");
            println!("{ended}");
            let id = Store::open(&desk.store()).and_then(|store| store.find("last")).expect("it was kept");
            recorded_runs::keep(&desk.store(), &id, &name);
        }
    }
}
