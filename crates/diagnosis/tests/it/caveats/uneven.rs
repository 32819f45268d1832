//! The machine's pace: whether it explains a varying capacity.

use crate::builders::{came_to, load, recorded, second, watched};
use record::watch::Host;
use record::{Caveat, CaveatDetails, CaveatKind, SearchEnd};
use torment_diagnosis::caveats;

/// The caveat for trials in which the same arithmetic took this long, in microseconds.
fn said(took: &[Option<f64>], ended: SearchEnd) -> Option<Caveat> {
    let trial = |took: &Option<f64>| {
        let mut window = second(Vec::new());
        window.host = Some(Host { pace_ns: took.map(|us| us * 1e3), ..Host::default() });
        load(1000.0, 1000.0, 5.0, 5, window)
    };
    let recording = recorded(None, watched(), took.iter().map(trial).collect());
    caveats(&recording, &came_to(ended, Vec::new()), None).pop()
}

#[test]
fn a_machine_that_is_now_slower_and_now_faster_is_named_where_the_limit_is_not_sharp() {
    let took = [20.0, 24.0, 19.0, 22.0, 18.0, 23.0, 20.0].map(Some);
    let caveat = said(&took, SearchEnd::Noisy).expect("it differs by a tenth");
    assert_eq!(caveat.doubt, CaveatKind::UnevenMachine);
    let Some(CaveatDetails::Speeds { slowest, quickest }) = caveat.grounds else { panic!("{caveat:?}") };
    let mean = took.iter().flatten().map(|us| us.ln()).sum::<f64>() / took.len() as f64;
    let speed = |us: f64| mean.exp() / us;
    assert!((slowest.0 - speed(24.0)).abs() < 1e-9 && (quickest.0 - speed(18.0)).abs() < 1e-9, "{caveat:?}");
    assert_eq!(said(&took, SearchEnd::Converged), None, "whatever the machine did, the limit is sharp");
}

#[test]
fn one_that_is_even_is_not_nor_one_that_was_hardly_watched() {
    let even = [20.0, 20.5, 19.8, 20.2, 20.0, 19.7, 20.3].map(Some);
    assert_eq!(said(&even, SearchEnd::Noisy), None);
    assert_eq!(said(&[20.0, 30.0, 20.0, 30.0, 20.0].map(Some), SearchEnd::Noisy), None, "five are few");
    assert_eq!(said(&[None; 9], SearchEnd::Noisy), None, "an earlier version did not look");
}
