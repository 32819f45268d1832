//! `compare`: two machines, or several runs, against each other.

use crate::args::{Common, CompareArgs, Format};
use crate::forms::{self, Forms};
use crate::kept::{Source, existing, is_file};
use crate::{Failure, result, wrong};
use anyhow::{Context, anyhow};
use runner::exit;
use view::{Kind, MOST_COMPARED, RunComparison, RunView, Spread, Standing, compare_runs};

pub fn compare(args: &CompareArgs, common: &Common) -> Result<u8, Failure> {
    let asked: Vec<&str> = args.baseline.iter().chain(&args.runs).map(String::as_str).collect();
    if !(2..=MOST_COMPARED).contains(&asked.len()) {
        return Err(wrong(anyhow!(
            "{} to compare; expected two to {MOST_COMPARED}, such as torment compare last~1 last",
            if asked.len() == 1 { "one run".to_owned() } else { format!("{} runs", asked.len()) }
        )));
    }
    // Two files can be compared where no run was ever kept.
    let store = if asked.iter().all(|name| is_file(name)) { None } else { Some(existing(common)?) };
    let sources = asked.iter().map(|name| Source::of(name, store.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let views = sources.iter().map(Source::view).collect::<Result<Vec<_>, _>>()?;
    if views.iter().any(|view| view.kind() == Kind::Sheet) {
        return sheets(&asked, &views, args, common);
    }
    let compared = compared(&sources, &views, args.tolerance.0)?;
    if let Some(path) = &args.junit {
        std::fs::write(path, compared.junit())
            .with_context(|| format!("'{}' cannot be written", path.display()))?;
    }
    forms::print(
        &Forms {
            lines: &|| compared.lines(),
            json: &|| compared.json(),
            grid: &|| compared.grid(),
            markdown: &|| compared.markdown(),
        },
        common,
    )?;
    Ok(match compared.standing() {
        _ if args.baseline.is_none() => exit::MET,
        Standing::Worse => exit::WORSE,
        Standing::Undecided | Standing::Unknown => exit::UNDECIDED,
        Standing::Better | Standing::Same => exit::MET,
    })
}

/// A single run's figures with their intervals, for pull requests.
pub fn markdown(source: &Source<'_>, view: &RunView) -> Result<String, Failure> {
    let compared = compared(std::slice::from_ref(source), std::slice::from_ref(view), 0.0)?;
    Ok(compared.markdown())
}

/// Each run's seconds are read when its view is known.
fn compared(sources: &[Source<'_>], views: &[RunView], noise: f64) -> Result<RunComparison, Failure> {
    let mut spreads = Vec::new();
    for (source, view) in sources.iter().zip(views) {
        let mut spread = Spread::new(view);
        source.each(&mut |event| spread.fold(view, event))?;
        spreads.push(spread);
    }
    let runs: Vec<(&RunView, &Spread)> = views.iter().zip(&spreads).collect();
    compare_runs(&runs, noise).map_err(|why| wrong(anyhow!(why)))
}

fn sheets(asked: &[&str], views: &[RunView], args: &CompareArgs, common: &Common) -> Result<u8, Failure> {
    let ([first, second], [one, other]) = (views, asked) else {
        return Err(wrong(anyhow!("runs of `torment probe` are compared in pairs; found {}", asked.len())));
    };
    if !matches!(common.format, Format::Text | Format::Json) {
        return Err(forms::unknown(common.format, "runs of `torment probe` are compared as text or json"));
    }
    if args.baseline.is_some() || args.junit.is_some() {
        return Err(wrong(anyhow!(
            "--baseline and --junit are for runs of `torment run` and `torment find`; leave them out to compare machines"
        )));
    }
    let compared = view::compare(first, second).ok_or_else(|| {
        wrong(anyhow!("'{one}' and '{other}' have no figure in common: compare two runs of `torment probe`"))
    })?;
    result(|| compared.lines(), || compared.json(), common)?;
    Ok(exit::MET)
}
