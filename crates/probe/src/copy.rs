//! Copies within memory, and the cheapest operations a program can ask for: the yardstick for all other figures.

use crate::block::{BlockResult, FigureName, Measurable};
use record::{Figure, FigureUnit};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};
use sys::AnonymousMapping;
use units::{Bytes, Nanos};

const KIB: u64 = 1 << 10;
const PAGE: u64 = 4 * KIB;
/// One that fits every cache, the article's two, and one larger than most caches.
const SIZES: [u64; 4] = [4 * KIB, 64 * KIB, 2048 * KIB, 32 * 1024 * KIB];
/// Pages touched before they are given back: few enough that memory does not limit it.
const PAGES_MOST: u64 = 1 << 14;

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CopyProbe {
    /// memcpy of this many bytes between two places already touched.
    Copy(Bytes),
    /// Reading the monotonic clock.
    Clock,
    /// A nearly empty system call: getppid(2).
    Call,
    /// First touch of a 4 KiB page.
    Touch,
}

impl Measurable for CopyProbe {
    fn figures(&self) -> Vec<FigureName> {
        let row = match *self {
            Self::Copy(size) => format!("memcpy of {size}"),
            Self::Clock => "reading the clock".to_owned(),
            Self::Call => "a system call (getppid)".to_owned(),
            Self::Touch => "first touch of a page of 4 KiB".to_owned(),
        };
        vec![FigureName { row, column: "each".to_owned(), unit: FigureUnit::Nanos }]
    }

    fn measure_block(&self, operations: u64) -> io::Result<BlockResult> {
        let took = match *self {
            Self::Copy(size) => copy(size, operations)?,
            Self::Clock => timed(operations, || _ = black_box(sys::monotonic_ns())),
            Self::Call => timed(operations, || _ = black_box(rustix::process::getppid())),
            Self::Touch => touch(operations)?,
        };
        let value = took.as_nanos() as f64 / operations as f64;
        Ok(BlockResult { values: vec![value], operations, ..BlockResult::default() })
    }
}

fn timed(operations: u64, mut operation: impl FnMut()) -> Duration {
    let began = Instant::now();
    (0..operations).for_each(|_| operation());
    began.elapsed()
}

fn copy(size: Bytes, operations: u64) -> io::Result<Duration> {
    let mut from = AnonymousMapping::private(size)?;
    let mut to = AnonymousMapping::private(size)?;
    from.fill(1);
    to.fill(2);
    Ok(timed(operations, || {
        to.copy_from_slice(&from);
        black_box(&mut to);
    }))
}

/// Excludes mapping and unmapping: only the cost of a touch.
fn touch(operations: u64) -> io::Result<Duration> {
    let (mut left, mut took) = (operations, Duration::ZERO);
    while left > 0 {
        let pages = left.min(PAGES_MOST);
        let mut memory = AnonymousMapping::private(Bytes(pages * PAGE))?;
        memory.small_pages()?;
        let began = Instant::now();
        memory.iter_mut().step_by(PAGE as usize).for_each(|byte| *byte = 1);
        took += began.elapsed();
        black_box(&mut memory);
        left -= pages;
    }
    Ok(took)
}

/// The table `memcpy`.
pub struct CopyTable;

impl CopyTable {
    /// Its probes, in display order.
    pub(crate) fn probes(&self) -> Vec<CopyProbe> {
        let copies = SIZES.map(|size| CopyProbe::Copy(Bytes(size))).into_iter();
        let all = copies.chain([CopyProbe::Touch, CopyProbe::Call, CopyProbe::Clock]);
        all.collect()
    }

    pub(crate) fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
        for (figure, size) in figures.iter_mut().zip(SIZES) {
            let rate = size as f64 / figure.median;
            figure.argument = Some(format!(
                "{rate:.1} GB/s: each byte is read once and written once, {:.1} GB/s in all",
                2.0 * rate
            ));
        }
        let [.., touch, call, clock] = figures else { return Vec::new() };
        let calls = touch.median / call.median;
        touch.argument = Some(format!(
            "{calls:.0} system calls' worth: a fault, a page cleared, an entry in the page table; {:.2} s for 1 GiB",
            touch.median * (1_u64 << 18) as f64 / 1e9
        ));
        clock.argument = Some(if clock.median < call.median / 2.0 {
            "read without entering the kernel (vDSO)".to_owned()
        } else {
            "as dear as a system call: this clock source cannot be read from user space".to_owned()
        });
        let clock = Nanos(clock.median as u64);
        vec![format!("Times of single operations below include one reading of the clock, {clock}.")]
    }
}
