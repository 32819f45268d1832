//! Memory of a waiting thread, and what malloc(3) does: virtual, resident, and kernel memory.

mod readings;
mod thread_ramp;

pub use thread_ramp::MemoryProbe;

use crate::figure::{find_figure, median};
use record::{Figure, Summand};
use thread_ramp::{FREE, MALLOC, PARTS, SUM, ThreadVariant};
use units::Bytes;

const KIB: f64 = 1024.0;

const THREADS: [ThreadVariant; 3] = [ThreadVariant::Plain, ThreadVariant::Touched, ThreadVariant::Raw];

/// The table `memory`.
pub struct MemoryTable;

impl MemoryTable {
    /// Its probes, in display order.
    pub(crate) fn probes(&self) -> Vec<MemoryProbe> {
        let threads = THREADS.map(MemoryProbe::Thread);
        threads.into_iter().chain([MemoryProbe::Malloc]).collect()
    }

    pub(crate) fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
        let of = |thread: ThreadVariant| MemoryProbe::Thread(thread).row();
        let stack = Bytes(rustix::param::page_size() as u64);
        for figure in figures.iter_mut() {
            figure.argument = argument(figure, stack);
        }
        for thread in THREADS {
            let row = of(thread);
            // Everything but virtual memory and the sum itself.
            let columns = PARTS.into_iter().filter(|column| !["virtual", SUM].contains(column));
            let parts =
                columns.filter_map(|column| Some(Summand::new(column, median(figures, &row, column)?)));
            let parts: Vec<Summand> = parts.filter(|part| part.amount > 0.0).collect();
            if let Some(sum) = find_figure(figures, &row, SUM) {
                sum.parts = parts;
            }
        }
        let mut notes = Vec::new();
        let plain = of(ThreadVariant::Plain);
        let all = PARTS.map(|column| median(figures, &plain, column));
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
        if let (Some(sum), Some(free)) = (thread_sum(figures), median(figures, &plain, FREE)) {
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

/// Total memory of a waiting thread.
pub(crate) fn thread_sum(figures: &[Figure]) -> Option<f64> {
    median(figures, &MemoryProbe::Thread(ThreadVariant::Plain).row(), SUM)
}

/// Explains the figure.
fn argument(figure: &Figure, page: Bytes) -> Option<String> {
    let has_stack = figure.row != MemoryProbe::Thread(ThreadVariant::Raw).row();
    if figure.row == MemoryProbe::Malloc.row() {
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
        "resident" if figure.row == MemoryProbe::Thread(ThreadVariant::Touched).row() => {
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
