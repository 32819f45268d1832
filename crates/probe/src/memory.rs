//! What a waiting thread takes of memory, and what malloc(3) does: virtual and resident, and what the kernel keeps beside.

mod cell;
mod readings;

pub use cell::Cell;

use crate::figure::{find, median};
use cell::{FREE, MALLOC, PARTS, SUM, Thread};
use record::{Figure, Summand};
use units::Bytes;

const KIB: f64 = 1024.0;

/// The table.
pub struct Memory;

impl Memory {
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let threads = [Thread::Plain, Thread::Touched, Thread::Raw].map(Cell::Thread);
        threads.into_iter().chain([Cell::Malloc]).collect()
    }

    pub(crate) fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
        let of = |thread: Thread| Cell::Thread(thread).row();
        let stack = Bytes(rustix::param::page_size() as u64);
        for figure in figures.iter_mut() {
            figure.argument = argument(figure, stack);
        }
        for thread in [Thread::Plain, Thread::Touched, Thread::Raw] {
            let row = of(thread);
            // All but the virtual, and the sum itself.
            let there = PARTS.into_iter().filter(|column| !["virtual", SUM].contains(column));
            let parts = there.filter_map(|column| Some(Summand::of(column, median(figures, &row, column)?)));
            let parts: Vec<Summand> = parts.filter(|part| part.amount > 0.0).collect();
            if let Some(sum) = find(figures, &row, SUM) {
                sum.parts = parts;
            }
        }
        let mut notes = Vec::new();
        let all = PARTS.map(|column| median(figures, &of(Thread::Plain), column));
        if let [Some(virtual_size), Some(resident), _, Some(kernel), _, Some(sum)] = all {
            notes.push(format!(
                "A waiting thread costs {:.1} KiB, of which its process's RSS shows {:.0} %: the kernel's stack ({:.0} KiB) is in \
                 no process's RSS, and the {:.1} MiB that it adds to the virtual size are not there until touched. 10,000 of \
                 them take {:.2} GiB.",
                sum / KIB,
                resident / sum * 100.0,
                kernel / KIB,
                virtual_size / KIB / KIB,
                sum * 10_000.0 / KIB / KIB / KIB,
            ));
        }
        let both = median(figures, &of(Thread::Plain), SUM).zip(median(figures, &of(Thread::Plain), FREE));
        if let Some((sum, free)) = both {
            notes.push(format!(
                "MemFree fell by {:.1} KiB a thread, {:.0} % of the sum: the kernel takes part of it from what it keeps for \
                 each processor. The sum of the parts is the steady figure.",
                free / KIB,
                free / sum * 100.0
            ));
        }
        notes
    }
}

/// What a waiting thread takes in all.
pub(crate) fn thread_sum(figures: &[Figure]) -> Option<f64> {
    median(figures, &Cell::Thread(Thread::Plain).row(), SUM)
}

/// Why it is so much.
fn argument(figure: &Figure, page: Bytes) -> Option<String> {
    let has_stack = figure.row != Cell::Thread(Thread::Raw).row();
    if figure.row == Cell::Malloc.row() {
        let text = match figure.column.as_str() {
            "virtual, untouched" => format!("{MALLOC} in a mapping of its own, and a page for its size"),
            "resident, untouched" => "nothing is there until it is touched".to_owned(),
            "virtual, touched" => "touching asks for nothing more".to_owned(),
            _ => "each page, once it is written to".to_owned(),
        };
        return Some(text);
    }
    let text = match figure.column.as_str() {
        "virtual" if has_stack => format!("8 MiB of stack and a guard page of {page}"),
        "virtual" => "no stack, no mapping".to_owned(),
        "resident" if figure.row == Cell::Thread(Thread::Touched).row() => {
            "400 KiB that it touches, and the two pages below".to_owned()
        }
        "resident" if has_stack => {
            "two pages of the stack, its own block and its first frames; and what the C library's heap holds of it"
                .to_owned()
        }
        "resident" => "nothing of its own in user space".to_owned(),
        "page tables" if has_stack => {
            "one page: stacks of 8 MiB are in different regions of 2 MiB, each of which takes one".to_owned()
        }
        "page tables" => "nothing is mapped for it".to_owned(),
        "kernel stack" => "of each task, in no process's RSS: only in KernelStack of /proc/meminfo, and in its memory control \
                           group"
            .to_owned(),
        "slab" => "task_struct and what else the kernel keeps of a task".to_owned(),
        _ => return None,
    };
    Some(text)
}
