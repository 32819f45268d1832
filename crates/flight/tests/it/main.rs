//! Chunks that were made for it. Those of real machines are read where machines are asked for them, in `crates/observe`.

mod made;

use flight::{Error, Flight, FrameKind, JavaFrame, JavaLoad, JavaSample, JavaWait, Waiting, read};
use made::{ALLOCATION, Bytes, COLLECTION, ENTER, LOAD, SETTING, chunk, other, sample};
use proptest::prelude::*;
use torment_flight as flight;

fn every_kind() -> Vec<u8> {
    let b = Bytes::default;
    chunk(&[
        sample(1000, 1),
        sample(2000, 2),
        sample(3000, 1),
        other(ENTER, &b().long(4000).long(2000).long(1).long(1).long(1).long(2)),
        other(ALLOCATION, &b().long(5000).long(1).long(4096)),
        other(COLLECTION, &b().long(6000).long(3000).long(1).long(1500)),
        other(SETTING, &b().long(0).long(made::SAMPLE).text("period").text("10 ms")),
        other(SETTING, &b().long(0).long(77).text("period").text("1 s")),
        other(LOAD, &b().long(7000).raw(&0.5_f32.to_be_bytes()).raw(&f32::NAN.to_be_bytes())),
        other(200, &b().text("an event of which nothing is known")),
    ])
}

#[test]
fn every_kind_of_event_is_read() {
    let flight = read(&every_kind()).expect("it is whole");
    assert!(!flight.cut && flight.left_out == 0, "{flight:?}");
    assert_eq!((flight.from_ns, flight.lasted_ns), (1_000_000_000, 5_000_000_000));
    let stack = |n: usize| flight.samples[n].stack.expect("it has one") as usize;
    assert_eq!(stack(0), stack(2));
    let [deep, cut] = [0, 1].map(|n| &flight.stacks[stack(n)]);
    let named = |frame: &JavaFrame| {
        let method = &flight.methods[frame.method as usize];
        (format!("{}.{}", method.class, method.name), frame.line, frame.kind)
    };
    let frames: Vec<_> = deep.frames.iter().map(named).collect();
    let expected = [
        ("app.Burn.seventy".to_owned(), 70, FrameKind::Compiled),
        ("app.Burn.main".to_owned(), 10, FrameKind::Inlined),
    ];
    assert_eq!(frames, expected);
    assert!(!deep.truncated && cut.truncated);
    let first = flight.samples[0];
    let expected = JavaSample {
        at_ns: 1_000_000_000,
        thread: Some(0),
        stack: first.stack,
        native: false,
        runnable: true,
    };
    assert_eq!(first, expected);
    assert_eq!(flight.samples[1].at_ns, 1_001_000_000);
    assert_eq!(flight.sample_period_ns(), Some(10_000_000));
    assert_eq!(flight.native_period_ns(), None);
    assert_eq!(flight.settings.len(), 1, "of events that are not read nothing is kept");
    let name = |thread: Option<u32>| {
        let thread = &flight.threads[thread.expect("it is known") as usize];
        (&*thread.name, thread.tid)
    };
    let [JavaWait { waiting: Waiting::Enter, duration_ns: 2_000_000, thread, class, other, .. }] =
        &flight.waits[..]
    else {
        panic!("{:?}", flight.waits)
    };
    assert_eq!(
        (name(*thread), class.as_deref(), name(*other)),
        (("main", 7), Some("app.Burn"), ("other", 8))
    );
    let allocation = &flight.allocations[0];
    assert_eq!((&*allocation.class, allocation.weight_bytes), ("app.Burn", 4096));
    let collection = &flight.collections[0];
    assert_eq!((&*collection.collector, collection.paused_ns), ("G1New", 1_500_000));
    assert_eq!(flight.loads, [JavaLoad { at_ns: 1_006_000_000, user: 0.5, system: 0.0 }]);
}

#[test]
fn chunks_follow_each_other() {
    let once = every_kind();
    let (one, two) = (read(&once).expect("whole"), read(&[once.clone(), once].concat()).expect("whole"));
    assert_eq!(two.samples.len(), 2 * one.samples.len());
    assert_eq!((two.stacks, two.methods, two.threads), (one.stacks, one.methods, one.threads));
    assert!(!two.cut);
}

#[test]
fn what_is_no_recording_is_refused() {
    let good = every_kind();
    let with = |at: usize, byte| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        read(&bytes)
    };
    assert_eq!(read(b""), Err(Error::NotFlight));
    assert_eq!(read(&good[..67]), Err(Error::NotFlight));
    assert_eq!(with(0, b'f'), Err(Error::NotFlight));
    assert_eq!(with(5, 1), Err(Error::Version { major: 1, minor: 1 }));
    assert_eq!(with(67, 0), Err(Error::Uncompressed));
    let behind = read(&[good.as_slice(), b"something else"].concat()).expect("the first chunk is whole");
    assert!(behind.cut && behind.samples.len() == 3);
}

/// Such as fields that contain each other, and lists of what takes no bytes.
#[test]
fn no_byte_that_is_another_makes_much_of_little() {
    let good = every_kind();
    let text = |flight: &Flight| format!("{flight:?}").len();
    let size = text(&read(&good).expect("whole"));
    // Each byte of what says how the rest is read, in each way that matters.
    for at in 68..good.len() {
        for byte in [0, 1, 0x7F, 0x80, 0xFF, good[at] ^ 1, good[at].wrapping_add(1)] {
            let mut bytes = good.clone();
            bytes[at] = byte;
            let flight = read(&bytes).expect("its head is whole");
            assert!(text(&flight) <= 2 * size, "{at}: {flight:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read(&bytes);
        let good = every_kind();
        let _ = read(&[&good[..68], &bytes].concat());
        let _ = read(&[good.as_slice(), &bytes].concat());
    }

    #[test]
    fn cut_anywhere_what_was_complete_counts(cut in 68_usize..2000) {
        let good = every_kind();
        let whole = read(&good).expect("whole");
        let part = read(&good[..cut.min(good.len() - 1)]).expect("its head is whole");
        prop_assert!(part.cut);
        prop_assert!(part.samples.len() <= whole.samples.len());
        for (part, whole) in part.samples.iter().zip(&whole.samples) {
            prop_assert_eq!(part, whole);
        }
    }
}
