//! Searches simulated targets of known capacity, and prints how often it was found.
//!
//! `cargo run --release -p torment-search --example truths -- --seeds 200` prints the table of `docs/method/search.md`; `-- --show ROW
//! SEED` prints every trial of one search; `-- --held ROW NEAR` finds the truth of a random target by brute force: the rates near NEAR
//! that nine in ten trials hold, and half of them.

mod noise;
#[allow(dead_code, reason = "the tests read what the table does not print")]
mod rows;
#[allow(dead_code, reason = "the tests read what the table does not print")]
mod simulate;
mod system;
#[allow(dead_code, reason = "the tests read what the table does not print")]
mod table;

use rows::rows;
use system::{Service, System};
use table::{Row, SearchResult, Truth, held, run_search};

/// Trials at each rate that establish the truth of a random target.
const REPEATS: usize = 300;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| args.get(i).and_then(|a| a.parse::<u64>().ok());
    match (args.first().map(String::as_str), number(1), number(2)) {
        (Some("--seeds"), Some(seeds), only) => print_table(seeds, only),
        (Some("--show"), Some(row), Some(seed)) if (row as usize) < rows().len() => {
            run_search(&rows()[row as usize], seed, true);
        }
        (Some("--held"), Some(row), Some(near)) => {
            let row = &rows()[row as usize];
            let (most, half) = held(row, near as f64, REPEATS);
            println!("{}: nine of ten hold {most:.1}/s, half {half:.1}/s", row.system.name);
        }
        _ => {
            eprintln!("usage: truths --seeds COUNT [ROW] | --show ROW SEED | --held ROW NEAR");
            std::process::exit(2);
        }
    }
}

fn print_table(seeds: u64, only: Option<u64>) {
    println!(
        "| target | truth | right | held by nine of ten ÷ truth: 5 %, median, 95 % | by half | widths of both, median | ended | trials | load after the warm-up, s: median, 95 %, largest |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (_, row) in rows().iter().enumerate().filter(|(i, _)| only.is_none_or(|o| o == *i as u64)) {
        let found: Vec<SearchResult> = (0..seeds).map(|seed| run_search(row, seed, false)).collect();
        println!("{}", format_row(row, &found));
    }
}

fn format_row(row: &Row, found: &[SearchResult]) -> String {
    let (truth, unit) = match row.truth {
        Truth::Capacity(c) => (format!("{c}/s"), c),
        Truth::Between(low, high) => (format!("{low} to {high}/s"), capacity(&row.system).unwrap_or(high)),
        Truth::Warm(c) => (format!("{c}/s when warm"), c),
        Truth::Fading(c) => (format!("{c}/s, falling"), c),
        Truth::Held(most, half) => (format!("{most:.0} and {half:.0}/s"), most),
        Truth::Max => (format!("at least {}/s", row.max), row.max),
        Truth::Generator(c, _) => (format!("generator: {c}/s"), c),
        Truth::Broken => ("does not recover".to_owned(), 2000.0),
    };
    let right = found.iter().filter(|f| f.right).count();
    let spread = |values: Vec<Option<f64>>| {
        let mut known: Vec<f64> = values.into_iter().flatten().map(|v| v / unit).collect();
        known.sort_by(f64::total_cmp);
        let at = |q: f64| known.get(((known.len() as f64 - 1.0) * q).round() as usize);
        match (at(0.05), at(0.5), at(0.95)) {
            (Some(a), Some(b), Some(c)) => format!("{a:.3}, {b:.3}, {c:.3}"),
            _ => "–".to_owned(),
        }
    };
    let mut ends: Vec<(String, usize)> = Vec::new();
    for f in found {
        let name = format!("{:?}", f.ended);
        match ends.iter_mut().find(|(n, _)| *n == name) {
            Some((_, count)) => *count += 1,
            None => ends.push((name, 1)),
        }
    }
    let ends: Vec<String> =
        ends.into_iter().map(|(n, c)| if c == found.len() { n } else { format!("{n} {c}") }).collect();
    let mut loads: Vec<f64> = found.iter().map(|f| f.loaded).collect();
    loads.sort_by(f64::total_cmp);
    let mut trials: Vec<u32> = found.iter().map(|f| f.trials).collect();
    trials.sort_unstable();
    format!(
        "| {} | {truth} | {:.1} % | {} | {} | {} | {} | {} | {:.0}, {:.0}, {:.0} |",
        row.system.name,
        right as f64 / found.len() as f64 * 100.0,
        spread(found.iter().map(|f| f.limits[0].held.or(f.limits[0].lower)).collect()),
        spread(found.iter().map(|f| f.limits[1].held.or(f.limits[1].lower)).collect()),
        widths(found),
        ends.join(", "),
        trials[trials.len() / 2],
        loads[loads.len() / 2],
        loads[(loads.len() - 1) * 95 / 100],
        loads[loads.len() - 1],
    )
}

/// How narrow both limits' intervals are.
fn widths(found: &[SearchResult]) -> String {
    let median_width = |place: usize| {
        let mut all: Vec<f64> = found
            .iter()
            .filter_map(|f| {
                let limit = &f.limits[place];
                Some(1.0 - limit.lower? / limit.upper?)
            })
            .collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).map_or("–".to_owned(), |width| format!("{:.1} %", width * 100.0))
    };
    format!("{}, {}", median_width(0), median_width(1))
}

/// What the servers of a system can do if nothing else interferes, in requests per second; none if they are unlimited.
fn capacity(system: &System) -> Option<f64> {
    let (Service::Fixed(seconds) | Service::Exponential(seconds)) = system.service;
    system.servers.map(|servers| servers as f64 / seconds)
}
