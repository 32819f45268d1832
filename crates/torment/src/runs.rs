//! `show`, `explain`, `list`, `name`, `tag`, `rm`: stored runs.

use crate::args::{CommonArgs, ListArgs, NameArgs, OutputFormat, ShowArgs, TagArgs, distinct, explained};
use crate::renderings::{self, Renderings};
use crate::run_source::{RunSource, existing, missing};
use crate::{CommandError, compare, print_result};
use anyhow::anyhow;
use diagnosis::ObservedRun;
use record::{Label, MachineCosts, RunKind};
use runner::exit;
use std::io::{self, IsTerminal};
use store::{Filter, Store};
use tui::PrintStyle;
use view::{
    ReportKind, RunView, Text, list_grid, list_json, list_lines, run_json, seconds_grid, sparklines, summary,
    verdict_change,
};

/// Latest runs of `torment probe` that are searched.
const PROBES_SEARCHED: u32 = 10;

/// This machine's costs, from the last `torment probe` on it that has them. They only explain: what cannot be read
/// counts as absent.
pub fn costs(store: &Store) -> Option<MachineCosts> {
    let machine = runner::machine();
    let probes = Filter {
        command: Some(RunKind::Probe.to_string()),
        limit: Some(PROBES_SEARCHED),
        ..Filter::default()
    };
    store.list(&probes).ok()?.into_iter().find_map(|run| {
        let mut view = RunView::default();
        store.events(&run.id).ok()?.filter_map(Result::ok).for_each(|event| view.fold(&event));
        let here = view.started.as_ref().is_some_and(|started| started.machine == machine);
        here.then(|| probe::costs(&run.id, &view.figures)).flatten()
    })
}

/// Shows a run's result, or the logs of its plan's programs.
pub fn show(args: &ShowArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let store = existing(common)?;
    let source = RunSource::Stored(&store, store.find(args.run.as_deref().unwrap_or("last"))?);
    let view = source.view()?;
    let is_load = matches!(view.kind(), ReportKind::Load | ReportKind::Search);
    if !matches!(common.format, OutputFormat::Text | OutputFormat::Json) && (args.logs || !is_load) {
        let why = match args.logs {
            true => "logs are printed as text only",
            false => "only a load or a search has seconds of load; this run is printed as text or json",
        };
        return Err(renderings::unsupported_format(common.format, why));
    }
    let markdown = match common.format {
        OutputFormat::Markdown => compare::markdown(&source, &view)?,
        _ => String::new(),
    };
    let lines = || match args.logs {
        true => view::log_lines(&view),
        false => {
            let glyphs = renderings::glyphs(args.plain);
            let sketch = renderings::limit_picture(&view, glyphs, common);
            [summary(&view), sketch, sparklines(&view, glyphs)].concat()
        }
    };
    let renderings = Renderings {
        lines: &lines,
        json: &|| run_json(&view),
        grid: &|| seconds_grid(&view),
        markdown: &|| markdown.clone(),
    };
    renderings::print(&renderings, common)?;
    Ok(exit::MET)
}

/// The whole chain of evidence; with `again` by the current rules, without changing what is stored.
pub fn explain(name: &str, again: bool, common: &CommonArgs) -> Result<u8, CommandError> {
    let store = existing(common)?;
    let source = RunSource::Stored(&store, store.find(name).map_err(suggest_topic)?);
    let mut view = source.view()?;
    let mut difference = None;
    if again {
        let mut recording = ObservedRun::default();
        source.for_each_event(&mut |event| recording.fold(event))?;
        let anew = diagnosis::diagnose(&recording);
        difference = Some(verdict_change(view.diagnosis.as_ref(), &anew));
        view.diagnosis = Some(anew);
    }
    let lines = || {
        let mut lines = view::explain(&view);
        // Below the target's line, above the verdict.
        let place = lines.len().min(1);
        difference.clone().into_iter().for_each(|line| lines.insert(place, line));
        lines
    };
    print_result(lines, || run_json(&view), common)?;
    Ok(exit::MET)
}

/// If no run has that name, a topic of the machine may have been meant.
fn suggest_topic(why: store::Error) -> anyhow::Error {
    match why {
        store::Error::NoRun { .. } => anyhow!("{why}; of the machine itself: {}", explained().join(", ")),
        why => why.into(),
    }
}

pub fn list(args: &ListArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let store = existing(common)?;
    let runs = store.list(&args.filter())?;
    let none_fits = runs.is_empty() && store.count()? > 0;
    let lines = || match missing(common) {
        Some(path) => vec![Text::plain(format!(
            "  there is no store {} yet; torment find, torment run or torment try makes it",
            path.display()
        ))],
        None if none_fits => vec![Text::plain("  no run matches; torment list shows all")],
        None => list_lines(&runs, PrintStyle::for_output(io::stdout().is_terminal()).width),
    };
    let grid = || list_grid(&runs);
    let renderings = Renderings {
        lines: &lines,
        json: &|| list_json(&runs),
        grid: &grid,
        markdown: &|| grid().markdown(),
    };
    renderings::print(&renderings, common)?;
    Ok(exit::MET)
}

/// Names a run, or removes its name.
pub fn name(args: &NameArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    relabel(&args.run, common, |label| label.name.clone_from(&args.name))
}

/// Adds tags to a run, or removes them.
pub fn tag(args: &TagArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    relabel(&args.run, common, |label| match args.remove {
        true => label.tags.retain(|tag| !args.tags.contains(tag)),
        false => label.tags = distinct(&[label.tags.as_slice(), &args.tags].concat()),
    })
}

fn relabel(run_name: &str, common: &CommonArgs, change: impl FnOnce(&mut Label)) -> Result<u8, CommandError> {
    let mut store = existing(common)?;
    let id = store.find(run_name)?;
    let mut label = store.summary(&id)?.label;
    change(&mut label);
    store.label(&id, &label)?;
    let called = label.name.map_or_else(|| "has no name".to_owned(), |name| format!("is called '{name}'"));
    let tags =
        if label.tags.is_empty() { String::new() } else { format!("; tags: {}", label.tags.join(" ")) };
    eprintln!("run {id} {called}{tags}");
    Ok(exit::MET)
}

pub fn remove(run_name: &[String], common: &CommonArgs) -> Result<u8, CommandError> {
    let store = existing(common)?;
    // Find all before removing any: a wrong name must not leave half of the work done.
    let ids = run_name.iter().map(|name| store.find(name)).collect::<Result<Vec<_>, _>>()?;
    for id in ids {
        store.remove(&id)?;
        eprintln!("removed {id}");
    }
    Ok(exit::MET)
}
