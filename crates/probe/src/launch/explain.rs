//! What the figures of launches mean: what they are made of, and what they say together.

use super::{Cell, HUGE, MB, MIB, Method, SIZES, SIZES_PAUSED, Starts};
use crate::block::Measurable;
use crate::figure::{find, time};
use record::{Figure, Summand};
use stats::Slope;
use units::{Bytes, grouped};

const PAGE: u64 = 4096;
const HUGE_PAGE: u64 = 2 * MIB;
const LAUNCH: usize = 0;
const ROUND: usize = 1;
/// A difference below this is none.
const TELLING: f64 = 0.02;
/// And of the price of a page between sizes, below this.
const UNEVEN: f64 = 0.1;

/// Figures that may be missing, by what they are of.
struct Sheet<'a>(&'a mut [Figure]);

impl Sheet<'_> {
    fn figure(&mut self, cell: Cell, at: usize) -> Option<&mut Figure> {
        let named = cell.figures().into_iter().nth(at)?;
        find(self.0, &named.row, &named.column)
    }

    fn value(&mut self, cell: Cell, at: usize) -> Option<f64> {
        Some(self.figure(cell, at)?.median)
    }

    fn argue(&mut self, cell: Cell, at: usize, words: impl FnOnce(f64) -> String) {
        if let Some(figure) = self.figure(cell, at) {
            figure.argument = Some(words(figure.median));
        }
    }

    /// What it is made of.
    fn sum(&mut self, cell: Cell, at: usize, parts: impl FnOnce(f64) -> Vec<Summand>) {
        if let Some(figure) = self.figure(cell, at) {
            figure.parts = parts(figure.median);
        }
    }

    /// A launch and what comes after it until it is joined, of those whose cost does not grow with the memory.
    fn joined(&mut self, cell: Cell, after: &str) {
        let launch = self.value(cell, LAUNCH);
        self.sum(cell, ROUND, |round| {
            launch.map_or_else(Vec::new, |launch| Summand::split(round, ("its launch", launch), after))
        });
    }

    /// What a page more costs, over all sizes in small pages.
    fn per_page(&mut self, method: Method, at: usize) -> Option<Slope> {
        let points: Vec<(f64, f64)> = SIZES
            .iter()
            .filter_map(|size| Some(((size / PAGE) as f64, self.value(Cell::new(method, *size), at)?)))
            .collect();
        Slope::by_shares(&points)
    }
}

pub(super) fn back_to_back(figures: &mut [Figure]) -> Vec<String> {
    let mut sheet = Sheet(figures);
    for method in [Method::Fork, Method::Clone] {
        copied(&mut sheet, method);
    }
    shared(&mut sheet);
    programs(&mut sheet);
    let mut notes = Vec::new();
    notes.extend(slopes(&mut sheet));
    notes.extend(prices(&mut sheet));
    notes.extend(pages_for_a_thread(&mut sheet));
    notes.extend(handlers(&mut sheet));
    notes.extend(loader(&mut sheet));
    notes.extend(new_stack(&mut sheet));
    notes.extend(many_tasks(&mut sheet));
    notes
}

/// Those whose cost grows with what they copy.
fn copied(sheet: &mut Sheet<'_>, method: Method) {
    let itself = Cell::new(Method::Itself, 0);
    let own = sheet.value(itself, 0).zip(sheet.value(itself, 1));
    for at in [LAUNCH, ROUND] {
        let (empty, slope) = (sheet.value(Cell::new(method, 0), at), sheet.per_page(method, at));
        let parts = if at == LAUNCH {
            "a system call, a task with its kernel stack, and a copy of each mapping"
        } else {
            "the same, two switches, and what was copied taken down again"
        };
        // Of so few pages as the nearest size has: the line over all sizes is the larger ones'.
        let nearest = sheet.value(Cell::new(method, SIZES[1]), at);
        let per_page =
            nearest.zip(empty).map(|(more, less)| (more - less).max(0.0) / (SIZES[1] / PAGE) as f64);
        sheet.argue(Cell::new(method, 0), at, |_| match own.zip(per_page) {
            Some(((pages, maps), per_page)) => format!(
                "{parts}; {} of it for the worker's own {pages:.0} touched pages in {maps:.0} mappings",
                time(pages * per_page)
            ),
            None => parts.to_owned(),
        });
        sheet.sum(Cell::new(method, 0), at, |all| match own.zip(per_page) {
            Some(((pages, _), per_page)) => {
                let own = format!("the worker's own {pages:.0} touched pages");
                Summand::split(all, (own.as_str(), pages * per_page), "all that does not grow with the pages")
            }
            None => Vec::new(),
        });
        let Some((empty, slope)) = empty.zip(slope) else { continue };
        for size in &SIZES[1..] {
            let pages = (size / PAGE) as f64;
            sheet.sum(Cell::new(method, *size), at, |_| {
                let more = format!("{} pages × {:.1} ns", grouped(size / PAGE), slope.per_unit);
                vec![Summand::of("as at 0 MiB", empty), Summand::of(more, (pages * slope.per_unit).max(0.0))]
            });
            sheet.argue(Cell::new(method, *size), at, |_| {
                format!(
                    "{} at 0 MiB + {} pages × {:.1} ns = {}",
                    time(empty),
                    grouped(size / PAGE),
                    slope.per_unit,
                    time(empty + pages * slope.per_unit)
                )
            });
        }
        let entries = format!("{} entries of 2 MiB", HUGE / HUGE_PAGE);
        sheet.sum(Cell::huge(method), at, |huge| Summand::split(huge, ("as at 0 MiB", empty), &entries));
        sheet.argue(Cell::huge(method), at, |huge| {
            format!(
                "{} at 0 MiB + {} entries of 2 MiB, {} each, instead of {} of 4 KiB",
                time(empty),
                HUGE / HUGE_PAGE,
                time((huge - empty).max(0.0) / (HUGE / HUGE_PAGE) as f64),
                grouped(HUGE / PAGE)
            )
        });
    }
}

/// Those that share the memory.
fn shared(sheet: &mut Sheet<'_>) {
    for size in [0, 2 * MIB, 64 * MIB] {
        let fork = sheet.value(Cell::new(Method::Fork, size), ROUND);
        sheet.argue(Cell::new(Method::Vfork, size), LAUNCH, |_| {
            "no page is copied, at any size; it returns when the child has ended, so that nearly all is in it".to_owned()
        });
        for method in [Method::Vfork, Method::Thread] {
            sheet.argue(Cell::new(method, size), ROUND, |round| {
                let than =
                    fork.map(|fork| format!("; {:.2} of a fork's here", round / fork)).unwrap_or_default();
                format!("a task made, two switches on one processor, a task ended{than}")
            });
            sheet.joined(Cell::new(method, size), "switches, and a task ended");
        }
        sheet.argue(Cell::new(Method::Thread, size), LAUNCH, |_| {
            "memory is shared, and so is all else; the stack is one that is left".to_owned()
        });
    }
    sheet.joined(Cell::new(Method::ThreadNewStack, 0), "switches, a task ended, and its stack unmapped");
    let words = "mapped (mmap, mprotect) for each, touched, and unmapped";
    for at in [LAUNCH, ROUND] {
        sheet.argue(Cell::new(Method::ThreadNewStack, 0), at, |_| {
            format!("a stack that no thread has left: {words}")
        });
        for method in [Method::Task, Method::TokioTask] {
            sheet.argue(Cell::new(method, 0), at, |_| {
                "no system call: memory for it, a place in a queue; a hundred at a time, of which this is one".to_owned()
            });
        }
    }
}

/// Those that become another program.
fn programs(sheet: &mut Sheet<'_>) {
    for size in [0, 64 * MIB] {
        for starts in [Starts::Minimal, Starts::True] {
            for (method, how) in [
                (Method::Spawn(starts), "no page is copied (CLONE_VM)"),
                (Method::CloneSpawn(starts), "no page is copied, and no handler reset one by one"),
            ] {
                let cell = Cell::new(method, size);
                sheet.argue(cell, LAUNCH, |_| {
                    format!("{how}; it returns when the program has been loaded by execve")
                });
                sheet.argue(cell, ROUND, |_| {
                    let runs = if starts == Starts::Minimal {
                        "its three instructions"
                    } else {
                        "its loader and libc"
                    };
                    format!("the same, {runs}, its end, and two switches")
                });
                sheet.joined(cell, "its run, its end, and two switches");
            }
        }
    }
}

fn slopes(sheet: &mut Sheet<'_>) -> Vec<String> {
    let mut words = |method: Method, name: &str| {
        let (launch, round) = (sheet.per_page(method, LAUNCH)?, sheet.per_page(method, ROUND)?);
        let gib = (1_u64 << 30) / PAGE;
        Some(format!(
            "{name} costs {:.1} ± {:.1} ns for each touched page of 4 KiB, and {:.1} ± {:.1} ns with its join, which takes the \
             copy down again (least squares over the sizes, ± one standard error): {} and {} for a process of 1 GiB.",
            launch.per_unit,
            launch.error,
            round.per_unit,
            round.error,
            time(launch.per_unit * gib as f64),
            time(round.per_unit * gib as f64)
        ))
    };
    [words(Method::Fork, "fork"), words(Method::Clone, "clone3 without shared memory")]
        .into_iter()
        .flatten()
        .collect()
}

/// Why one price for all sizes leaves a part unexplained.
fn prices(sheet: &mut Sheet<'_>) -> Option<String> {
    let empty = sheet.value(Cell::new(Method::Fork, 0), LAUNCH)?;
    let mut price = |size: u64| {
        let more = sheet.value(Cell::new(Method::Fork, size), LAUNCH)? - empty;
        Some((size / MIB, more / (size / PAGE) as f64))
    };
    let mut each: Vec<(u64, f64)> = SIZES[1..].iter().filter_map(|size| price(*size)).collect();
    each.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(cheap, least), .., (dear, most)] = each.as_slice() else { return None };
    (*most > least * (1.0 + UNEVEN)).then(|| {
        format!(
            "A page costs a fork {least:.1} ns at {cheap} MiB and {most:.1} ns at {dear} MiB, and nothing that is measured here says why: one \
             price for all sizes leaves that part unexplained."
        )
    })
}

fn pages_for_a_thread(sheet: &mut Sheet<'_>) -> Option<String> {
    let thread = sheet.value(Cell::new(Method::Thread, 0), ROUND)?;
    let vfork = sheet.value(Cell::new(Method::Vfork, 0), ROUND)?;
    let per_page = sheet.per_page(Method::Fork, ROUND).filter(|slope| slope.per_unit > 0.0)?.per_unit;
    let pages = |cost: f64| (cost / per_page).round() as u64;
    let words = |pages: u64| format!("{} pages ({})", grouped(pages), Bytes(pages * PAGE));
    Some(format!(
        "A thread, launched and joined, costs what {} touched add to a fork; a child that shares the memory, what {} add.",
        words(pages(thread)),
        words(pages(vfork))
    ))
}

/// posix_spawn against a clone3 that needs no call for each signal.
fn handlers(sheet: &mut Sheet<'_>) -> Option<String> {
    let spawn = sheet.value(Cell::new(Method::Spawn(Starts::Minimal), 0), ROUND)?;
    let clone = sheet.value(Cell::new(Method::CloneSpawn(Starts::Minimal), 0), ROUND)?;
    let more = spawn - clone;
    (more > TELLING * spawn).then(|| {
        format!(
            "posix_spawn takes {} more than clone3 with CLONE_CLEAR_SIGHAND for the same program: the library maps a stack, and \
             resets the handlers of all signals by a system call each (119 calls of rt_sigaction in glibc 2.36).",
            time(more)
        )
    })
}

fn loader(sheet: &mut Sheet<'_>) -> Option<String> {
    let minimal = sheet.value(Cell::new(Method::CloneSpawn(Starts::Minimal), 0), ROUND)?;
    let dynamic = sheet.value(Cell::new(Method::CloneSpawn(Starts::True), 0), ROUND)?;
    (dynamic > minimal).then(|| {
        format!(
            "Of the {} of `true`, {} are what comes before and after three instructions: a larger file to map, the loader, libc.",
            time(dynamic),
            time(dynamic - minimal)
        )
    })
}

fn new_stack(sheet: &mut Sheet<'_>) -> Option<String> {
    let kept = sheet.value(Cell::new(Method::Thread, 0), LAUNCH)?;
    let new = sheet.value(Cell::new(Method::ThreadNewStack, 0), LAUNCH)?;
    (new > kept * (1.0 + TELLING)).then(|| {
        let more = time(new - kept);
        format!("A thread whose stack has to be mapped starts {more} later than one that takes over a stack.")
    })
}

fn many_tasks(sheet: &mut Sheet<'_>) -> Option<String> {
    let thread = sheet.value(Cell::new(Method::Thread, 0), ROUND)?;
    let task = sheet.value(Cell::new(Method::TokioTask, 0), ROUND).filter(|task| *task > 0.0)?;
    let times = grouped((thread / task).round() as u64);
    Some(format!(
        "A thread costs {times} times what a task of tokio does, on one processor, when neither does anything."
    ))
}

/// The mean launch of the article, in µs, at its sizes: Eli Bendersky, "Launching Linux threads and processes with clone",
/// on a Haswell of 2018.
const ARTICLE: [(Method, [f64; 4]); 2] =
    [(Method::Fork, [22.3, 34.5, 44.7, 66.8]), (Method::Thread, [5.5, 5.5, 5.5, 5.5])];

/// As the article measured: held against its figures.
pub(super) fn paused(figures: &mut [Figure]) -> Vec<String> {
    let mut sheet = Sheet(figures);
    for (method, launches) in ARTICLE {
        for (size, article) in SIZES_PAUSED.into_iter().zip(launches) {
            sheet.argue(Cell::paused(method, size), LAUNCH, |here| {
                format!("the article: {article} µs; here {:.2} times that", here / 1e3 / article)
            });
        }
    }
    let mut notes = vec![
        "The article's program sleeps 500 µs between launch and join: each launch starts from a processor that was idle, and \
         each join finds a child that has ended. Neither is what a program sees that launches and waits."
            .to_owned(),
    ];
    let at = |size: u64| (size as f64 / PAGE as f64, Cell::paused(Method::Fork, size));
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
    use crate::block::Named;
    use crate::launch::Launch;

    fn figures(table: &Launch, value: impl Fn(Cell, usize) -> f64) -> Vec<Figure> {
        let figure = |cell: Cell, at: usize, named: Named| {
            let names = ("launch", named.row.as_str(), named.column.as_str());
            Figure::of(names, named.unit, vec![value(cell, at)], 1).expect("it is a number")
        };
        let cells = table.cells().into_iter();
        cells
            .flat_map(|cell| cell.figures().into_iter().enumerate().map(move |(at, named)| (cell, at, named)))
            .map(|(cell, at, named)| figure(cell, at, named))
            .collect()
    }

    /// A machine where a fork costs 40 µs and 50 ns for a page, and the same again for its end.
    fn known(cell: Cell, at: usize) -> f64 {
        let twice = (at + 1) as f64;
        match cell.method {
            Method::Fork | Method::Clone if cell.huge => 56_000.0 * twice,
            Method::Fork | Method::Clone => (40_000.0 + cell.heap.0 as f64 / 4096.0 * 50.0) * twice,
            Method::Spawn(_) => 130_000.0,
            Method::CloneSpawn(_) => 110_000.0,
            Method::Thread => 10_000.0 * twice,
            Method::ThreadNewStack => 15_000.0 * twice,
            Method::Task | Method::TokioTask => 100.0 * twice,
            Method::Itself => [200.0, 14.0][at],
            Method::Vfork => 20_000.0,
        }
    }

    /// A sum of 1.68 ms stood below a bar of 2.07 ms, and no word said why.
    #[test]
    fn that_larger_processes_pay_more_for_a_page_is_told() {
        let table = Launch { like_eliben: false };
        let dear = |cell: Cell, at: usize| match cell.method {
            Method::Fork if cell.heap.0 == 256 * MIB => 40_000.0 + 65_536.0 * 60.0,
            _ => known(cell, at),
        };
        let notes = table.explain(&mut figures(&table, dear)).join("\n");
        let said = "A page costs a fork 50.0 ns at 2 MiB and 60.0 ns at 256 MiB, and nothing that is measured here says why";
        assert!(notes.contains(said), "{notes}");
    }

    #[test]
    fn a_known_machine_is_explained() {
        let table = Launch { like_eliben: false };
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
        let table = Launch { like_eliben: false };
        let mut all = figures(&table, known);
        all.retain(|figure| figure.row.starts_with("clone3 + execve"));
        let notes = table.explain(&mut all);
        assert!(notes.is_empty(), "{notes:?}");
        assert!(table.explain(&mut []).is_empty());
    }

    #[test]
    fn the_article_is_held_against() {
        let table = Launch { like_eliben: true };
        let mut all = figures(&table, |cell, _| match cell.method {
            Method::Fork => 44_600.0 + cell.heap.0 as f64 / 4096.0 * 48.0,
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
