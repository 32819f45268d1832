//! What the launch figures consist of, and what they show together.

use super::{HUGE, LaunchMethod, LaunchProbe, MB, MIB, SIZES, SIZES_PAUSED, StartedProgram};
use crate::block::Measurable;
use crate::figure::{clamped_nanos, find_figure};
use record::{Figure, Summand};
use stats::Slope;
use units::{Bytes, grouped};

const PAGE: u64 = 4096;
const HUGE_PAGE: u64 = 2 * MIB;
const LAUNCH: usize = 0;
const ROUND: usize = 1;
/// Smaller differences are ignored,
const MIN_DIFFERENCE: f64 = 0.02;
/// and smaller ones in the cost of a page between sizes.
const MIN_UNEVENNESS: f64 = 0.1;

/// Figures by probe; any may be missing.
struct FigureSheet<'a>(&'a mut [Figure]);

impl FigureSheet<'_> {
    fn figure(&mut self, probe: LaunchProbe, at: usize) -> Option<&mut Figure> {
        let named = probe.figures().into_iter().nth(at)?;
        find_figure(self.0, &named.row, &named.column)
    }

    fn value(&mut self, probe: LaunchProbe, at: usize) -> Option<f64> {
        Some(self.figure(probe, at)?.median)
    }

    fn set_argument(&mut self, probe: LaunchProbe, at: usize, words: impl FnOnce(f64) -> String) {
        if let Some(figure) = self.figure(probe, at) {
            figure.argument = Some(words(figure.median));
        }
    }

    /// In words, and as a sum.
    fn explain(&mut self, probe: LaunchProbe, at: usize, how: impl FnOnce(f64) -> (String, Vec<Summand>)) {
        if let Some(figure) = self.figure(probe, at) {
            let (argument, parts) = how(figure.median);
            (figure.argument, figure.parts) = (Some(argument), parts);
        }
    }

    /// A launch and what follows until it is joined, for methods whose cost does not grow with memory.
    fn set_join_parts(&mut self, probe: LaunchProbe, after: &str) {
        let Some(launch) = self.value(probe, LAUNCH) else { return };
        if let Some(figure) = self.figure(probe, ROUND) {
            figure.parts = Summand::split(figure.median, ("its launch", launch), after);
        }
    }

    /// Cost of one more page, over all sizes in small pages.
    fn per_page(&mut self, method: LaunchMethod, at: usize) -> Option<Slope> {
        let points: Vec<(f64, f64)> = SIZES
            .iter()
            .filter_map(|size| Some(((size / PAGE) as f64, self.value(LaunchProbe::new(method, *size), at)?)))
            .collect();
        Slope::by_shares(&points)
    }
}

pub(super) fn explain_back_to_back(figures: &mut [Figure]) -> Vec<String> {
    let mut sheet = FigureSheet(figures);
    for method in [LaunchMethod::Fork, LaunchMethod::Clone] {
        explain_copies(&mut sheet, method);
    }
    explain_shared(&mut sheet);
    explain_programs(&mut sheet);
    let mut notes = Vec::new();
    notes.extend(slope_notes(&mut sheet));
    notes.extend(page_price_note(&mut sheet));
    notes.extend(thread_in_pages_note(&mut sheet));
    notes.extend(handlers_note(&mut sheet));
    notes.extend(loader_note(&mut sheet));
    notes.extend(new_stack_note(&mut sheet));
    notes.extend(task_note(&mut sheet));
    notes
}

/// Methods whose cost grows with what they copy.
fn explain_copies(sheet: &mut FigureSheet<'_>, method: LaunchMethod) {
    let itself = LaunchProbe::new(LaunchMethod::Itself, 0);
    let own = sheet.value(itself, 0).zip(sheet.value(itself, 1));
    for at in [LAUNCH, ROUND] {
        let (empty, slope) = (sheet.value(LaunchProbe::new(method, 0), at), sheet.per_page(method, at));
        let parts = if at == LAUNCH {
            "a system call, a task with its kernel stack, and a copy of each mapping"
        } else {
            "the same, two switches, and what was copied taken down again"
        };
        // With as few pages as the nearest size: the line over all sizes follows the larger ones.
        let nearest = sheet.value(LaunchProbe::new(method, SIZES[1]), at);
        let per_page =
            nearest.zip(empty).map(|(more, less)| (more - less).max(0.0) / (SIZES[1] / PAGE) as f64);
        sheet.explain(LaunchProbe::new(method, 0), at, |all| match own.zip(per_page) {
            Some(((pages, maps), per_page)) => {
                let (own, cost) = (format!("the worker's own {pages:.0} touched pages"), pages * per_page);
                (
                    format!("{parts}; {} of it for {own} in {maps:.0} mappings", clamped_nanos(cost)),
                    Summand::split(all, (&own, cost), "all that does not grow with the pages"),
                )
            }
            None => (parts.to_owned(), Vec::new()),
        });
        let Some((empty, slope)) = empty.zip(slope) else { continue };
        let base = format!("{} at 0 MiB", clamped_nanos(empty));
        for size in &SIZES[1..] {
            let pages = size / PAGE;
            let more = format!("{} pages × {:.1} ns", grouped(pages), slope.per_unit);
            let cost = pages as f64 * slope.per_unit;
            sheet.explain(LaunchProbe::new(method, *size), at, |_| {
                (
                    format!("{base} + {more} = {}", clamped_nanos(empty + cost)),
                    vec![Summand::new("as at 0 MiB", empty), Summand::new(more, cost.max(0.0))],
                )
            });
        }
        let count = HUGE / HUGE_PAGE;
        let entries = format!("{count} entries of 2 MiB");
        sheet.explain(LaunchProbe::huge(method), at, |huge| {
            let each = clamped_nanos((huge - empty).max(0.0) / count as f64);
            let small = grouped(HUGE / PAGE);
            (
                format!("{base} + {entries}, {each} each, instead of {small} of 4 KiB"),
                Summand::split(huge, ("as at 0 MiB", empty), &entries),
            )
        });
    }
}

/// Methods that share memory.
fn explain_shared(sheet: &mut FigureSheet<'_>) {
    for size in [0, 2 * MIB, 64 * MIB] {
        let fork = sheet.value(LaunchProbe::new(LaunchMethod::Fork, size), ROUND);
        sheet.set_argument(LaunchProbe::new(LaunchMethod::Vfork, size), LAUNCH, |_| {
            "no page is copied, at any size; it returns when the child has ended, so that nearly all is in it".to_owned()
        });
        for method in [LaunchMethod::Vfork, LaunchMethod::Thread] {
            sheet.set_argument(LaunchProbe::new(method, size), ROUND, |round| {
                let than =
                    fork.map(|fork| format!("; {:.2} of a fork's here", round / fork)).unwrap_or_default();
                format!("a task made, two switches on one processor, a task ended{than}")
            });
            sheet.set_join_parts(LaunchProbe::new(method, size), "switches, and a task ended");
        }
        sheet.set_argument(LaunchProbe::new(LaunchMethod::Thread, size), LAUNCH, |_| {
            "memory is shared, and so is all else; the stack is one that is left".to_owned()
        });
    }
    sheet.set_join_parts(
        LaunchProbe::new(LaunchMethod::ThreadNewStack, 0),
        "switches, a task ended, and its stack unmapped",
    );
    let words = "mapped (mmap, mprotect) for each, touched, and unmapped";
    for at in [LAUNCH, ROUND] {
        sheet.set_argument(LaunchProbe::new(LaunchMethod::ThreadNewStack, 0), at, |_| {
            format!("a stack that no thread has left: {words}")
        });
        for method in [LaunchMethod::Task, LaunchMethod::TokioTask] {
            sheet.set_argument(LaunchProbe::new(method, 0), at, |_| {
                "no system call: memory for it, a place in a queue; a hundred at a time, of which this is one".to_owned()
            });
        }
    }
}

/// Methods that execute another program.
fn explain_programs(sheet: &mut FigureSheet<'_>) {
    for size in [0, 64 * MIB] {
        for starts in [StartedProgram::Minimal, StartedProgram::True] {
            for (method, how) in [
                (LaunchMethod::Spawn(starts), "no page is copied (CLONE_VM)"),
                (LaunchMethod::CloneSpawn(starts), "no page is copied, and no handler reset one by one"),
            ] {
                let probe = LaunchProbe::new(method, size);
                sheet.set_argument(probe, LAUNCH, |_| {
                    format!("{how}; it returns when the program has been loaded by execve")
                });
                sheet.set_argument(probe, ROUND, |_| {
                    let runs = if starts == StartedProgram::Minimal {
                        "its three instructions"
                    } else {
                        "its loader and libc"
                    };
                    format!("the same, {runs}, its end, and two switches")
                });
                sheet.set_join_parts(probe, "its run, its end, and two switches");
            }
        }
    }
}

fn slope_notes(sheet: &mut FigureSheet<'_>) -> Vec<String> {
    let mut words = |method: LaunchMethod, name: &str| {
        let (launch, round) = (sheet.per_page(method, LAUNCH)?, sheet.per_page(method, ROUND)?);
        let gib = (1_u64 << 30) / PAGE;
        Some(format!(
            "{name} costs {:.1} ± {:.1} ns for each touched page of 4 KiB, and {:.1} ± {:.1} ns with its join, which takes the \
             copy down again (least squares over the sizes, ± one standard error): {} and {} for a process of 1 GiB.",
            launch.per_unit,
            launch.error,
            round.per_unit,
            round.error,
            clamped_nanos(launch.per_unit * gib as f64),
            clamped_nanos(round.per_unit * gib as f64)
        ))
    };
    [words(LaunchMethod::Fork, "fork"), words(LaunchMethod::Clone, "clone3 without shared memory")]
        .into_iter()
        .flatten()
        .collect()
}

/// Why one page cost for all sizes leaves a part unexplained.
fn page_price_note(sheet: &mut FigureSheet<'_>) -> Option<String> {
    let empty = sheet.value(LaunchProbe::new(LaunchMethod::Fork, 0), LAUNCH)?;
    let mut price = |size: u64| {
        let more = sheet.value(LaunchProbe::new(LaunchMethod::Fork, size), LAUNCH)? - empty;
        Some((size / MIB, more / (size / PAGE) as f64))
    };
    let mut each: Vec<(u64, f64)> = SIZES[1..].iter().filter_map(|size| price(*size)).collect();
    each.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(cheap, least), .., (dear, most)] = each.as_slice() else { return None };
    (*most > least * (1.0 + MIN_UNEVENNESS)).then(|| {
        format!(
            "A page costs a fork {least:.1} ns at {cheap} MiB and {most:.1} ns at {dear} MiB, and nothing that is measured here says why: one \
             price for all sizes leaves that part unexplained."
        )
    })
}

fn thread_in_pages_note(sheet: &mut FigureSheet<'_>) -> Option<String> {
    let thread = sheet.value(LaunchProbe::new(LaunchMethod::Thread, 0), ROUND)?;
    let vfork = sheet.value(LaunchProbe::new(LaunchMethod::Vfork, 0), ROUND)?;
    let per_page = sheet.per_page(LaunchMethod::Fork, ROUND).filter(|slope| slope.per_unit > 0.0)?.per_unit;
    let pages = |cost: f64| (cost / per_page).round() as u64;
    let words = |pages: u64| format!("{} pages ({})", grouped(pages), Bytes(pages * PAGE));
    Some(format!(
        "A thread, launched and joined, costs what {} touched add to a fork; a child that shares the memory, what {} add.",
        words(pages(thread)),
        words(pages(vfork))
    ))
}

/// posix_spawn against a clone3 that needs no call per signal.
fn handlers_note(sheet: &mut FigureSheet<'_>) -> Option<String> {
    let spawn = sheet.value(LaunchProbe::new(LaunchMethod::Spawn(StartedProgram::Minimal), 0), ROUND)?;
    let clone = sheet.value(LaunchProbe::new(LaunchMethod::CloneSpawn(StartedProgram::Minimal), 0), ROUND)?;
    let more = spawn - clone;
    (more > MIN_DIFFERENCE * spawn).then(|| {
        format!(
            "posix_spawn takes {} more than clone3 with CLONE_CLEAR_SIGHAND for the same program: the library maps a stack, and \
             resets the handlers of all signals by a system call each (119 calls of rt_sigaction in glibc 2.36).",
            clamped_nanos(more)
        )
    })
}

fn loader_note(sheet: &mut FigureSheet<'_>) -> Option<String> {
    let minimal =
        sheet.value(LaunchProbe::new(LaunchMethod::CloneSpawn(StartedProgram::Minimal), 0), ROUND)?;
    let dynamic = sheet.value(LaunchProbe::new(LaunchMethod::CloneSpawn(StartedProgram::True), 0), ROUND)?;
    (dynamic > minimal).then(|| {
        format!(
            "Of the {} of `true`, {} are what comes before and after three instructions: a larger file to map, the loader, libc.",
            clamped_nanos(dynamic),
            clamped_nanos(dynamic - minimal)
        )
    })
}

fn new_stack_note(sheet: &mut FigureSheet<'_>) -> Option<String> {
    let kept = sheet.value(LaunchProbe::new(LaunchMethod::Thread, 0), LAUNCH)?;
    let new = sheet.value(LaunchProbe::new(LaunchMethod::ThreadNewStack, 0), LAUNCH)?;
    (new > kept * (1.0 + MIN_DIFFERENCE)).then(|| {
        let more = clamped_nanos(new - kept);
        format!("A thread whose stack has to be mapped starts {more} later than one that takes over a stack.")
    })
}

fn task_note(sheet: &mut FigureSheet<'_>) -> Option<String> {
    let thread = sheet.value(LaunchProbe::new(LaunchMethod::Thread, 0), ROUND)?;
    let task = sheet.value(LaunchProbe::new(LaunchMethod::TokioTask, 0), ROUND).filter(|task| *task > 0.0)?;
    let times = grouped((thread / task).round() as u64);
    Some(format!(
        "A thread costs {times} times what a task of tokio does, on one processor, when neither does anything."
    ))
}

/// Mean launch in the article, in µs, at its sizes: Eli Bendersky, "Launching Linux threads and processes with clone",
/// on a Haswell of 2018.
const ARTICLE: [(LaunchMethod, [f64; 4]); 2] =
    [(LaunchMethod::Fork, [22.3, 34.5, 44.7, 66.8]), (LaunchMethod::Thread, [5.5, 5.5, 5.5, 5.5])];

/// Compares measurements made like the article's with its figures.
pub(super) fn explain_paused(figures: &mut [Figure]) -> Vec<String> {
    let mut sheet = FigureSheet(figures);
    for (method, launches) in ARTICLE {
        for (size, article) in SIZES_PAUSED.into_iter().zip(launches) {
            sheet.set_argument(LaunchProbe::paused(method, size), LAUNCH, |here| {
                format!("the article: {article} µs; here {:.2} times that", here / 1e3 / article)
            });
        }
    }
    let mut notes = vec![
        "The article's program sleeps 500 µs between launch and join: each launch starts from a processor that was idle, and \
         each join finds a child that has ended. Neither is what a program sees that launches and waits."
            .to_owned(),
    ];
    let at = |size: u64| (size as f64 / PAGE as f64, LaunchProbe::paused(LaunchMethod::Fork, size));
    let [first, .., last] = ARTICLE[0].1;
    let article = (last - first) * 1e3 / (8 * MB / PAGE) as f64;
    let points: Vec<(f64, f64)> = SIZES_PAUSED
        .into_iter()
        .filter_map(|size| Some((at(size).0, sheet.value(at(size).1, LAUNCH)?)))
        .collect();
    notes.extend(Slope::through(&points).map(|slope| {
        format!(
            "fork costs {:.1} ± {:.1} ns for each touched page of 4 KiB; {article:.0} ns in the article.",
            slope.per_unit, slope.error
        )
    }));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::FigureName;
    use crate::launch::LaunchTable;

    fn figures(table: &LaunchTable, value: impl Fn(LaunchProbe, usize) -> f64) -> Vec<Figure> {
        let figure = |cell: LaunchProbe, at: usize, named: FigureName| {
            let names = ("launch", named.row.as_str(), named.column.as_str());
            Figure::from_blocks(names, named.unit, vec![value(cell, at)], 1).expect("it is a number")
        };
        let cells = table.probes().into_iter();
        cells
            .flat_map(|cell| cell.figures().into_iter().enumerate().map(move |(at, named)| (cell, at, named)))
            .map(|(cell, at, named)| figure(cell, at, named))
            .collect()
    }

    /// A machine where a fork costs 40 µs and 50 ns per page, and its end the same again.
    fn known(cell: LaunchProbe, at: usize) -> f64 {
        let twice = (at + 1) as f64;
        match cell.method {
            LaunchMethod::Fork | LaunchMethod::Clone if cell.huge => 56_000.0 * twice,
            LaunchMethod::Fork | LaunchMethod::Clone => {
                (40_000.0 + cell.heap.0 as f64 / 4096.0 * 50.0) * twice
            }
            LaunchMethod::Spawn(_) => 130_000.0,
            LaunchMethod::CloneSpawn(_) => 110_000.0,
            LaunchMethod::Thread => 10_000.0 * twice,
            LaunchMethod::ThreadNewStack => 15_000.0 * twice,
            LaunchMethod::Task | LaunchMethod::TokioTask => 100.0 * twice,
            LaunchMethod::Itself => [200.0, 14.0][at],
            LaunchMethod::Vfork => 20_000.0,
        }
    }

    /// Regression: a sum of 1.68 ms stood below a bar of 2.07 ms without explanation.
    #[test]
    fn that_larger_processes_pay_more_for_a_page_is_told() {
        let table = LaunchTable { like_eliben: false };
        let dear = |cell: LaunchProbe, at: usize| match cell.method {
            LaunchMethod::Fork if cell.heap.0 == 256 * MIB => 40_000.0 + 65_536.0 * 60.0,
            _ => known(cell, at),
        };
        let notes = table.explain(&mut figures(&table, dear)).join("\n");
        let said = "A page costs a fork 50.0 ns at 2 MiB and 60.0 ns at 256 MiB, and nothing that is measured here says why";
        assert!(notes.contains(said), "{notes}");
    }

    #[test]
    fn a_known_machine_is_explained() {
        let table = LaunchTable { like_eliben: false };
        let mut all = figures(&table, known);
        let notes = table.explain(&mut all).join("\n");
        for part in [
            "fork costs 50.0 ± 0.0 ns for each touched page of 4 KiB, and 100.0 ± 0.0 ns with its join",
            "what 200 pages (800 KiB) touched add to a fork; a child that shares the memory, what 200 pages",
            "posix_spawn takes 20 µs more than clone3",
            "starts 5 µs later",
            "A thread costs 100 times what a task of tokio does",
        ] {
            assert!(notes.contains(part), "{part} is missing in:\n{notes}");
        }
        assert!(!notes.contains("A page costs a fork"), "one price is enough:\n{notes}");
        assert!(
            all.iter()
                .filter(|figure| figure.row != "the worker itself")
                .all(|figure| figure.argument.is_some())
        );
        let argument = |row: &str, column: &str| {
            let found = all.iter().find(|figure| figure.row == row && figure.column == column);
            found.and_then(|figure| figure.argument.clone()).expect("it is measured and explained")
        };
        assert_eq!(argument("fork", "64 MiB, launch"), "40 µs at 0 MiB + 16,384 pages × 50.0 ns = 859 µs");
        assert!(
            argument("fork", "0 MiB, launch")
                .contains("10 µs of it for the worker's own 200 touched pages in 14 mappings")
        );
        assert!(
            argument("fork", "64 MiB huge, launch")
                .contains("32 entries of 2 MiB, 500 ns each, instead of 16,384")
        );
        let parts = |row: &str, column: &str| {
            let found = all.iter().find(|figure| figure.row == row && figure.column == column);
            let parts = found.map(|figure| figure.parts.iter()).expect("it is measured");
            parts.map(|part| format!("{}: {:.0}", part.name, part.amount)).collect::<Vec<_>>()
        };
        for (row, column, expected) in [
            ("fork", "64 MiB, launch", ["as at 0 MiB: 40000", "16,384 pages × 50.0 ns: 819200"]),
            ("fork", "64 MiB huge, launch", ["as at 0 MiB: 40000", "32 entries of 2 MiB: 16000"]),
            (
                "fork",
                "0 MiB, launch",
                ["the worker's own 200 touched pages: 10000", "all that does not grow with the pages: 30000"],
            ),
            (
                "pthread_create",
                "2 MiB, launch and join",
                ["its launch: 10000", "switches, and a task ended: 10000"],
            ),
        ] {
            assert_eq!(parts(row, column), expected, "{row}, {column}");
        }
        assert!(parts("async task", "0 MiB, launch").is_empty(), "what is no sum has no parts");
    }

    #[test]
    fn what_could_not_be_measured_is_not_explained() {
        let table = LaunchTable { like_eliben: false };
        let mut all = figures(&table, known);
        all.retain(|figure| figure.row.starts_with("clone3 + execve"));
        let notes = table.explain(&mut all);
        assert!(notes.is_empty(), "{notes:?}");
        assert!(table.explain(&mut []).is_empty());
    }

    #[test]
    fn the_article_is_held_against() {
        let table = LaunchTable { like_eliben: true };
        let mut all = figures(&table, |cell, _| match cell.method {
            LaunchMethod::Fork => 44_600.0 + cell.heap.0 as f64 / 4096.0 * 48.0,
            _ => 11_000.0,
        });
        let notes = table.explain(&mut all);
        assert!(
            notes[1].starts_with("fork costs 48.0 ± 0.0 ns") && notes[1].ends_with("23 ns in the article."),
            "{notes:?}"
        );
        assert_eq!(all[0].argument.as_deref(), Some("the article: 22.3 µs; here 2.00 times that"));
    }
}
