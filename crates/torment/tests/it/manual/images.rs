//! The manual's images are made from the recorded runs, never by hand: `make pictures` remakes them all.
//!
//! A drawing is exactly what torment draws of a run, and a test compares the bytes. A photograph of the page depends on
//! the browser and the machine's fonts: a test only checks that it exists, is small, and is shown.

use super::pages::pages;
use super::recorded_runs;
use crate::program::{Sandbox, binary, repository};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Relative to the repository.
const FOLDER: &str = "docs/images";
/// Renders the page and stores pictures of it in a folder: `PROGRAM TORMENT STORE FOLDER`.
const CAMERA: &str = "crates/page/tests/browser/pictures.mjs";
/// Drawings and their runs.
const DRAWN: [(&str, &str); 5] = [
    ("limit.svg", "demo"),
    ("try.svg", "workers"),
    ("probe.svg", "launch"),
    ("threads.svg", "threads"),
    ("working-set.svg", "working-set"),
];
/// Readers wait for images: most bytes of a drawing, and of a photograph.
const MOST: (u64, u64) = (60_000, 160_000);
/// Least number of words in an image's alternative text.
const FEWEST_WORDS: usize = 6;

fn image(name: &str) -> PathBuf {
    repository().join(FOLDER).join(name)
}

#[test]
fn drawings_are_what_torment_draws() {
    let sandbox = Sandbox::new();
    recorded_runs::put(&sandbox.store());
    let mut stale = Vec::new();
    for (name, run) in DRAWN {
        sandbox.torment(["report", run, "-o", name]).expect(0);
        let drawn = fs::read_to_string(sandbox.path(name)).expect("it was written");
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

/// Not part of the other tests: it needs chromium and npm.
#[test]
#[ignore = "makes the photographs of the page anew, which wants chromium and npm"]
fn photographs() {
    let sandbox = Sandbox::new();
    recorded_runs::put_with_earlier(&sandbox.store());
    let mut camera = Command::new("node");
    camera.arg(repository().join(CAMERA)).arg(binary()).arg(sandbox.store()).arg(repository().join(FOLDER));
    let ended = sandbox.homed(camera).status().unwrap_or_else(|e| panic!("node: {e}"));
    assert!(ended.success(), "{CAMERA}: {ended}");
}
