//! The manual is complete, and describes nothing that does not exist.

use super::is_understood;
use crate::manual::pages::{ManualPage, pages};
use crate::program::{binary, repository};
use runner::exit;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Panics with all errors, if there are any.
#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Commands in blocks that are not run, and in the text.
fn commands(page: &ManualPage) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = page.quoted();
    let indented =
        page.prose().into_iter().filter_map(|(at, line)| Some((at, line.strip_prefix("    ")?.to_owned())));
    commands.extend(indented);
    for block in page.blocks() {
        let text = block.lines.join("\n").replace("\\\n", "");
        match block.language() {
            "console" => commands.extend(
                text.lines()
                    .filter_map(|line| line.strip_prefix("$ "))
                    .map(|line| (block.from, line.to_owned())),
            ),
            "sh" => commands.extend(text.lines().map(|line| (block.from, line.to_owned()))),
            _ => {}
        }
    }
    // `torment COMMAND` stands for all of them, `torment --lateness 1ms` for those with that option.
    let is_one = |command: &str| {
        command.strip_prefix("torment ").is_some_and(|rest| rest.starts_with(char::is_lowercase))
    };
    commands.retain(|(_, command)| is_one(command));
    commands
}

#[test]
fn every_option_in_the_manual_is_one() {
    let mut wrong = Vec::new();
    for page in pages() {
        for (at, command) in commands(&page) {
            if let Err(why) = is_understood(&command) {
                wrong.push(format!("{}:{at}: {command}\n{why}", page.name));
            }
        }
    }
    none(&wrong);
}

#[test]
fn commands_are_shown_in_blocks_that_are_read() {
    let is_read = ["console", "sh"];
    let mut wrong = Vec::new();
    for page in pages() {
        for block in page.blocks() {
            let has_command =
                block.lines.iter().any(|line| line.trim_start_matches("$ ").starts_with("torment "));
            if has_command && !is_read.contains(&block.language()) {
                wrong.push(format!(
                    "{}:{}: a block with commands is ```console or ```sh",
                    page.name, block.from
                ));
            }
        }
    }
    none(&wrong);
}

/// All commands and their subcommands, from their help.
fn all_commands(above: &[String]) -> Vec<Vec<String>> {
    let help = Command::new(binary()).args(above).arg("-h").output().expect("torment can be started");
    let help = String::from_utf8(help.stdout).expect("torment prints UTF-8");
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let mut all = Vec::new();
    for line in listed {
        // A description may continue on further lines, with more indentation.
        let Some(name) = line.strip_prefix("  ").and_then(|line| line.split(' ').next()) else { continue };
        if name.is_empty() {
            continue;
        }
        let path = [above, &[name.to_owned()]].concat();
        all.extend(all_commands(&path));
        all.push(path);
    }
    all
}

#[test]
fn every_command_has_its_heading() {
    let headings: BTreeSet<String> =
        pages().iter().filter(|page| page.is_in_the_book()).flat_map(ManualPage::headings).collect();
    let all = all_commands(&[]);
    assert!(all.len() > 20, "{all:?}");
    let missing = all.iter().map(|path| format!("torment {}", path.join(" ")));
    // One heading may name several: `torment name`, `torment tag`.
    let is_named = |command: &String| {
        headings.iter().any(|heading| heading.split(", ").any(|part| part.trim_matches('`') == command))
    };
    let missing: Vec<String> = missing.filter(|command| !is_named(command)).collect();
    assert!(missing.is_empty(), "no page in docs/ has a heading for: {}", missing.join(", "));
}

#[test]
fn every_page_is_in_the_contents() {
    let pages = pages();
    let contents = pages.iter().find(|page| page.name == "docs/SUMMARY.md").expect("mdBook wants one");
    let listed: BTreeSet<String> = contents.links().into_iter().map(|(_, to)| format!("docs/{to}")).collect();
    let there: BTreeSet<String> = pages
        .iter()
        .filter(|page| page.is_in_the_book() && page.name != contents.name)
        .map(|page| page.name.clone())
        .collect();
    assert_eq!(listed, there, "docs/SUMMARY.md, and the pages in docs/");
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let mut wrong = Vec::new();
    for page in &pages {
        for (at, link) in page.links() {
            if link.contains("://") {
                continue;
            }
            if let Err(why) = follow(page, &link, &pages) {
                wrong.push(format!("{}:{at}: {link}: {why}", page.name));
            }
        }
    }
    none(&wrong);
}

fn follow(from: &ManualPage, link: &str, pages: &[ManualPage]) -> Result<(), &'static str> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = Path::new(&from.name).parent().unwrap_or(Path::new(""));
    let target = if file.is_empty() { from.name.clone() } else { joined(folder, file) };
    if !repository().join(&target).exists() {
        return Err("there is no such file");
    }
    if from.is_in_the_book() && !target.starts_with("docs/") {
        return Err("it leads out of the book, where it would lead nowhere");
    }
    let Some(page) = pages.iter().find(|page| page.name == target) else { return Ok(()) };
    match anchor.is_empty() || page.anchors().iter().any(|other| other == anchor) {
        true => Ok(()),
        false => Err("that page has no such heading"),
    }
}

/// A path relative to a folder of the repository, without `..`.
fn joined(folder: &Path, file: &str) -> String {
    let mut parts: Vec<&str> =
        folder.to_str().expect("names are UTF-8").split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_exit_code_is_one() {
    let known: BTreeSet<u8> = [
        exit::MET,
        exit::ERROR,
        exit::USAGE,
        exit::WORSE,
        exit::UNDECIDED,
        exit::NOT_TRUSTWORTHY,
        exit::NOT_RECOVERED,
        exit::NOT_MET,
        exit::INTERRUPTED,
    ]
    .into();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for page in pages() {
        for (at, code) in exit_codes(&page) {
            if !known.contains(&code) {
                wrong.push(format!("{}:{at}: torment never ends with exit code {code}", page.name));
            }
            seen.insert(code);
        }
    }
    none(&wrong);
    assert_eq!(seen, known, "exit codes that the manual tells, and those that there are");
}

/// Numbers after the words "exit code", and those in the first column of a table with that heading.
fn exit_codes(page: &ManualPage) -> Vec<(usize, u8)> {
    let mut codes = Vec::new();
    let mut in_table = false;
    for (at, line) in page.prose() {
        let lower = line.to_lowercase();
        let words = lower.split("exit code ").skip(1);
        let number = |text: &str| {
            let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        codes.extend(words.filter_map(number).map(|code| (at, code)));
        in_table = line.starts_with('|') && (in_table || lower.starts_with("| exit code"));
        if in_table {
            codes.extend(number(line.trim_start_matches(['|', ' '])).map(|code| (at, code)));
        }
    }
    codes
}

/// More would not be learnt, and a word with two meanings would be two words.
#[test]
fn the_glossary_is_short_and_says_each_word_once() {
    let page = std::fs::read_to_string(repository().join("docs/glossary.md")).expect("it is there");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let words: Vec<&str> = rows.map(|(word, _)| word).filter(|word| *word != "word").collect();
    let each: BTreeSet<&str> = words.iter().copied().collect();
    assert_eq!(each.len(), words.len(), "a word is there twice: {words:?}");
    assert!((50..=80).contains(&words.len()), "{} words", words.len());
}
