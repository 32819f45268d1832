//! The images of the manual are made of the recorded runs, never by hand: `make pictures` makes all of them anew.
//!
//! A drawing is what torment draws of a run, to the byte, and so is held against that by a test. A photograph of the page differs with
//! the browser and with the fonts of the machine: of those a test knows only that they are there, small, and shown.

use super::pages::pages;
use super::recorded_runs;
use crate::program::{Sandbox, binary, repository};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Below the repository.
const FOLDER: &str = "docs/images";
/// What draws the page, and stores pictures of it in a folder: `PROGRAM TORMENT STORE FOLDER`.
const CAMERA: &str = "crates/page/tests/browser/pictures.mjs";
/// Drawings, each with the run that it is of.
const DRAWN: [(&str, &str); 5] = [
    ("limit.svg", "demo"),
    ("try.svg", "workers"),
    ("probe.svg", "launch"),
    ("threads.svg", "threads"),
    ("working-set.svg", "working-set"),
];
/// Whoever opens a page waits for its images: a drawing may have so many bytes, a photograph so many.
const MOST: (u64, u64) = (60_000, 160_000);
/// Words at least that say what an image shows to whoever does not see it.
const FEWEST_WORDS: usize = 6;

fn image(name: &str) -> PathBuf {
    repository().join(FOLDER).join(name)
}

#[test]
fn drawings_are_what_torment_draws() {
    let place = Sandbox::new();
    recorded_runs::put(&place.store());
    let mut stale = Vec::new();
    for (name, run) in DRAWN {
        place.torment(["report", run, "-o", name]).expect(0);
        let drawn = fs::read_to_string(place.path(name)).expect("it was written");
        if std::env::var_os("BLESS").is_some() {
            fs::write(image(name), &drawn).unwrap_or_else(|e| panic!("{name}: {e}"));
        } else if fs::read_to_string(image(name)).ok() != Some(drawn) {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "{} in {FOLDER} show what torment draws no longer: make pictures",
        stale.join(", ")
    );
}

#[test]
fn every_image_is_small_and_shown_with_what_it_says() {
    let mut shown = BTreeSet::new();
    let mut wrong = Vec::new();
    for page in pages() {
        for (at, words, target) in page.images() {
            let place = format!("{}:{at}", page.name);
            if words.split_whitespace().count() < FEWEST_WORDS {
                wrong.push(format!("{place}: '{words}' does not say what is to be seen"));
            }
            match target.rsplit_once("images/") {
                Some((_, name)) => drop(shown.insert(name.to_owned())),
                None => wrong.push(format!("{place}: {target} is not in {FOLDER}")),
            }
        }
    }
    let mut there = BTreeSet::new();
    for entry in fs::read_dir(repository().join(FOLDER)).expect("the repository has it") {
        let entry = entry.expect("it can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        let bytes = entry.metadata().expect("it was just listed").len();
        let most = if name.ends_with(".svg") { MOST.0 } else { MOST.1 };
        if bytes > most {
            wrong.push(format!("{name}: {bytes} bytes, at most {most}"));
        }
        there.insert(name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(shown, there, "images that pages show, and those in {FOLDER}");
}

/// Not with the other tests: without chromium and npm there is nothing to look with.
#[test]
#[ignore = "makes the photographs of the page anew, which wants chromium and npm"]
fn photographs() {
    let place = Sandbox::new();
    recorded_runs::put_with_earlier(&place.store());
    let mut camera = Command::new("node");
    camera.arg(repository().join(CAMERA)).arg(binary()).arg(place.store()).arg(repository().join(FOLDER));
    let ended = place.homed(camera).status().unwrap_or_else(|e| panic!("node: {e}"));
    assert!(ended.success(), "{CAMERA}: {ended}");
}
