//! A run's result as an image: as SVG, and rasterised.

use crate::manual::recorded_runs;
use crate::program::Sandbox;
use std::fs;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Width and height in pixels, from a PNG's header.
fn size(png: &[u8]) -> [u32; 2] {
    assert!(png.starts_with(SIGNATURE), "no PNG");
    [16, 20].map(|at| png[at..at + 4].iter().fold(0, |size, byte| size << 8 | u32::from(*byte)))
}

/// The numeric value of an SVG attribute's first occurrence.
fn number(svg: &str, attribute: &str) -> u32 {
    let (_, rest) = svg.split_once(&format!(" {attribute}=\"")).unwrap_or_else(|| panic!("no {attribute}"));
    let (number, _) = rest.split_once('"').expect("it ends");
    number.parse().unwrap_or_else(|e| panic!("{attribute}={number}: {e}"))
}

/// An SVG without its texts.
fn mute(svg: &str) -> String {
    let mut parts = svg.split("<text ");
    let mut mute = parts.next().unwrap_or_default().to_owned();
    parts.for_each(|part| mute += part.split_once("</text>").expect("a text ends").1);
    mute
}

#[test]
fn a_picture_in_pixels_is_the_one_for_browsers() {
    let sandbox = Sandbox::new();
    recorded_runs::put(&sandbox.store());
    // A search, an experiment, and a load.
    for run in ["demo", "workers", "crowd"] {
        sandbox.torment(["report", run, "-o", "it.svg"]).expect(0);
        let said = sandbox.torment(["report", run, "-o", "it.png"]).expect(0);
        assert!(said.stdout.contains("wrote it.png (") && said.stdout.contains("images do"), "{said}");
        let svg = fs::read_to_string(sandbox.path("it.svg")).expect("it was written");
        let png = fs::read(sandbox.path("it.png")).expect("it was written");
        assert_eq!(size(&png), [1_920, 2 * number(&svg, "height")], "{run}");
        assert!(png == picture::png(&svg).expect("it is an SVG"), "{run} is drawn otherwise here");
        let mute = mute(&svg);
        assert!(svg.contains("</text>") && !mute.contains("</text>"), "{mute}");
        let mute = picture::png(&mute).expect("it is an SVG");
        assert!(png.len() > mute.len() * 3 / 2, "{} bytes, {} without letters", png.len(), mute.len());

        let (_, written) = sandbox.json(["report", run, "-o", "again.PNG"]);
        assert_eq!(written["bytes"], png.len(), "{written}");
        assert!(fs::read(sandbox.path("again.PNG")).expect("it was written") == png, "{run}");
    }
    sandbox
        .torment(["report", "demo", "-o", "none/it.png"])
        .expect_error(1, &["'none/it.png' cannot be written"]);
}
