//! Mutations of real fleet messages and join files: of all invalid bytes, those
//! nearest to valid ones. The same every time; the fuzzers find others.

use crate::{corpus, peak_memory};
use torment_hostile::{READERS, reader};
use units::random::{Random, one_of};

/// Mutants of each,
const EACH: u64 = 400;
/// and of each corpus file, for any reader.
const EACH_READER: u64 = 100;
/// More than all of it takes, whatever lengths are named.
const MAX_GROWTH: u64 = 256 << 20;
/// Prefixes of long values, followed by a length: bytes, strings, arrays and maps of MessagePack; and numbers of histograms.
const LONG: [u8; 6] = [0xc6, 0xdb, 0xdd, 0xdf, 0xff, 0x7f];

/// An index below `count`.
fn random_below(random: &mut Random, count: usize) -> usize {
    one_of(random.draw(), count as u128) as usize
}

/// The bytes with up to four mutations: a bit, a byte, a length beyond all there is, a part repeated or left out, an
/// early end.
pub fn mutant(real: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = real.to_vec();
    for _ in 0..=random_below(random, 4) {
        let at = random_below(random, bytes.len() + 1);
        let end = (at + random_below(random, 64)).min(bytes.len());
        match random.draw() % 6 {
            0 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (random.draw() % 8)),
            1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.draw() as u8),
            2 => {
                let kind = LONG[random_below(random, LONG.len())];
                let length = bytes.len().min(at + 5);
                bytes.splice(at..length, [kind, 0xff, 0xff, 0xff, 0xff]);
            }
            3 => bytes.splice(at..at, bytes[at..end].to_vec()).for_each(drop),
            4 => drop(bytes.drain(at..end)),
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// Prints the seed if a reader panics.
struct NamesSeedOnPanic(&'static str, u64);

impl Drop for NamesSeedOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("fed to {}: mutant {}", self.0, self.1);
        }
    }
}

#[test]
fn what_is_nearly_said_breaks_no_promise_and_takes_no_room() {
    let before = peak_memory();
    for name in ["fleet_messages", "join"] {
        for (nth, real) in corpus(name).iter().enumerate() {
            for seed in (0..EACH).map(|seed| seed + EACH * nth as u64) {
                let _fed = NamesSeedOnPanic(name, seed);
                reader(name)(&mutant(real, &mut Random(seed)));
            }
        }
    }
    let grown = peak_memory().saturating_sub(before);
    assert!(grown < MAX_GROWTH, "{grown} bytes more");
}

#[test]
fn what_is_like_what_the_fuzzers_kept_breaks_no_promise() {
    for (name, read) in READERS {
        let kept = corpus(name);
        for seed in 0..EACH_READER {
            let (_fed, mut random) = (NamesSeedOnPanic(name, seed), Random(seed));
            let real = &kept[random_below(&mut random, kept.len())];
            read(&mutant(real, &mut random));
        }
    }
}

#[test]
fn mutants_differ_and_are_the_same_again() {
    let all: Vec<Vec<u8>> = (0..100).map(|seed| mutant(b"what is really said", &mut Random(seed))).collect();
    let unchanged = all.iter().filter(|mutant| mutant.as_slice() == b"what is really said").count();
    assert!(unchanged < 10, "{unchanged}");
    assert!(all.iter().any(|mutant| mutant.len() > 19) && all.iter().any(|mutant| mutant.len() < 19));
    assert_eq!(mutant(b"what is really said", &mut Random(7)), all[7]);
}
