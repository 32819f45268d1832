//! `compare`: two machines, or several runs, with each other.

use crate::args::{CommonArgs, CompareArgs, OutputFormat};
use crate::renderings::{self, Renderings};
use crate::run_source::{RunSource, existing, is_file};
use crate::{CommandError, print_result, report, usage_error};
use anyhow::anyhow;
use runner::exit;
use view::{LoadSamples, MAX_COMPARED, ReportKind, RunComparison, RunView, Significance, compare_runs};

pub fn compare(args: &CompareArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let names: Vec<&str> = args.baseline.iter().chain(&args.runs).map(String::as_str).collect();
    if !(2..=MAX_COMPARED).contains(&names.len()) {
        return Err(usage_error(anyhow!(
            "{} to compare; expected two to {MAX_COMPARED}, such as torment compare last~1 last",
            if names.len() == 1 { "one run".to_owned() } else { format!("{} runs", names.len()) }
        )));
    }
    // Two files can be compared without a store.
    let store = if names.iter().all(|name| is_file(name)) { None } else { Some(existing(common)?) };
    let sources =
        names.iter().map(|name| RunSource::find(name, store.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let views = sources.iter().map(RunSource::view).collect::<Result<Vec<_>, _>>()?;
    if views.iter().any(|view| view.kind() == ReportKind::Probe) {
        return sheets(&names, &views, args, common);
    }
    let comparison = compare_sources(&sources, &views, args.tolerance.0)?;
    if let Some(path) = &args.junit {
        report::write(path, comparison.junit().as_bytes())?;
    }
    renderings::print(
        &Renderings {
            lines: &|| comparison.lines(),
            json: &|| comparison.json(),
            grid: &|| comparison.grid(),
            markdown: &|| comparison.markdown(),
        },
        common,
    )?;
    Ok(match comparison.overall() {
        _ if args.baseline.is_none() => exit::MET,
        Significance::Worse => exit::WORSE,
        Significance::Undecided | Significance::Unknown => exit::UNDECIDED,
        Significance::Better | Significance::Same => exit::MET,
    })
}

/// A single run's figures with their intervals, for pull requests.
pub fn markdown(source: &RunSource<'_>, view: &RunView) -> Result<String, CommandError> {
    let comparison = compare_sources(std::slice::from_ref(source), std::slice::from_ref(view), 0.0)?;
    Ok(comparison.markdown())
}

/// A run's seconds are read once its view is known.
fn compare_sources(
    sources: &[RunSource<'_>],
    views: &[RunView],
    noise: f64,
) -> Result<RunComparison, CommandError> {
    let mut spreads = Vec::new();
    for (source, view) in sources.iter().zip(views) {
        let mut spread = LoadSamples::new(view);
        source.for_each_event(&mut |event| spread.fold(view, event))?;
        spreads.push(spread);
    }
    let runs: Vec<(&RunView, &LoadSamples)> = views.iter().zip(&spreads).collect();
    compare_runs(&runs, noise).map_err(|why| usage_error(anyhow!(why)))
}

fn sheets(
    names: &[&str],
    views: &[RunView],
    args: &CompareArgs,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    let ([first, second], [one, other]) = (views, names) else {
        return Err(usage_error(anyhow!(
            "runs of `torment probe` are compared in pairs; found {}",
            names.len()
        )));
    };
    if !matches!(common.format, OutputFormat::Text | OutputFormat::Json) {
        return Err(renderings::unsupported_format(
            common.format,
            "runs of `torment probe` are compared as text or json",
        ));
    }
    if args.baseline.is_some() || args.junit.is_some() {
        return Err(usage_error(anyhow!(
            "--baseline and --junit are for runs of `torment run` and `torment find`; leave them out to compare machines"
        )));
    }
    let comparison = view::compare_probes(first, second).ok_or_else(|| {
        usage_error(anyhow!(
            "'{one}' and '{other}' have no figure in common: compare two runs of `torment probe`"
        ))
    })?;
    print_result(|| comparison.lines(), || comparison.json(), common)?;
    Ok(exit::MET)
}
