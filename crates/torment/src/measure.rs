//! `find` and `run`: plan, faces, store; then the runner does the work.

use crate::aloud::Aloud;
use crate::args::{Common, KeepArgs, ModeArgs, PodArgs, away_of, fleet_of, manifests_of, watchers_of};
use crate::invitation::{Invitation, WATCHERS, WORKERS};
use crate::label::labelled;
use crate::page::{self, Beside};
use crate::{Failure, bytes, forms, interrupt, kept, paper, result, runs, wrong};
use anyhow::{Context, anyhow};
use plan::{Error, Plan, ReadFile};
use record::Event;
use runner::{Around, AwayAsked, Entrance, FleetAsked, Outcome, Profiling, Sink, Stop, WatchersAsked, exit};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use store::{Recording, Store};
use tui::{Live, print};
use view::{Progress, RunView, Text, Tone, run_json, summary};

/// Makes the plan, shows it, and carries it out.
pub fn measure(
    plan: impl FnOnce(ReadFile<'_>) -> Result<Plan, Error>,
    pods: &PodArgs,
    how: &ModeArgs,
    profile: Profiling,
    common: &Common,
) -> Result<u8, Failure> {
    let plan = plan(&mut bytes).map_err(wrong)?;
    if how.once {
        return once(&plan);
    }
    if announced(&plan, how.dry_run, common)? {
        return Ok(exit::MET);
    }
    if let Some(manifests) = manifests_of(&plan, pods).map_err(wrong)? {
        print!("{manifests}");
        return Ok(exit::MET);
    }
    if let Some(away) = away_of(&plan, pods).map_err(wrong)? {
        return conducted(&plan, &away, how, common);
    }
    let fleet = fleet_of(&plan, pods).map_err(wrong)?;
    let watchers = watchers_of(&plan, pods).map_err(wrong)?;
    let store = store(how.keep.no_store, common)?;
    let costs = store.as_ref().and_then(runs::costs);
    let _invitations = invited(fleet.as_ref(), watchers.as_ref(), common)?;
    carry_out_as(&how.keep, store, &plan.generator.cores, common, |faces, stop| {
        let (fleet, watchers) = (fleet.as_ref(), watchers.as_ref());
        let around = Around { costs: costs.as_ref(), fleet, watchers, profile };
        runner::conduct(&plan, around, env!("CARGO_PKG_VERSION"), faces, stop)
    })
}

/// Has a cluster carry it out, and follows that.
fn conducted(plan: &Plan, away: &AwayAsked, how: &ModeArgs, common: &Common) -> Result<u8, Failure> {
    let store = store(how.keep.no_store, common)?;
    let costs = store.as_ref().and_then(runs::costs);
    let (id, on) = (&away.id, away.site.asked());
    let words = format!(
        "conducted in {}; to follow it again, should this end: torment attach {id} --on {on}",
        away.site.describe()
    );
    described(vec![words], false, common)?;
    carry_out_as(&how.keep, store, &[], common, |faces, stop| {
        runner::conduct_away(plan, away, costs.as_ref(), faces, stop)
    })
}

/// Writes what lets workers and watchers in, and says how they come.
pub fn invited(
    fleet: Option<&FleetAsked>,
    watchers: Option<&WatchersAsked>,
    common: &Common,
) -> Result<Vec<Invitation>, Failure> {
    let mut invitations = Vec::new();
    if let Some(FleetAsked::Join { workers, entrance, .. }) = fleet {
        let whose = if *workers == 1 { "its machine" } else { "their machines" };
        invitations.push(invite(WORKERS, entrance, &number_of(*workers, "worker"), whose, "worker", common)?);
    }
    if let Some(WatchersAsked::Join { watchers, entrance }) = watchers {
        let whose = if *watchers == 1 { "the target's machine" } else { "the target's machines" };
        invitations.push(invite(
            WATCHERS,
            entrance,
            &number_of(*watchers, "watcher"),
            whose,
            "watch",
            common,
        )?);
    }
    Ok(invitations)
}

fn invite(
    name: &'static str,
    entrance: &Entrance,
    who: &str,
    whose: &str,
    command: &str,
    common: &Common,
) -> Result<Invitation, Failure> {
    // Whoever ends the run from here on takes the file with it.
    interrupt::asked_or_out()?;
    let invitation = Invitation::write(name, entrance.file())?;
    let words =
        format!("waits for {who}: copy {name} to {whose}, and run there: torment {command} --join {name}");
    described(vec![words], false, common)?;
    Ok(invitation)
}

/// `a worker`, `2 workers`.
fn number_of(count: u32, what: &str) -> String {
    if count == 1 { format!("a {what}") } else { format!("{count} {what}s") }
}

/// Says the plan in words. Whether that is all, for only the plan was asked for: then it is printed too.
pub fn announced(plan: &Plan, dry_run: bool, common: &Common) -> Result<bool, Failure> {
    described(plan.describe(), dry_run, common)?;
    if dry_run {
        print!("{}", plan.to_toml());
    }
    Ok(dry_run)
}

/// Says what will be done, a line for each thing.
pub fn described(words: Vec<String>, dry_run: bool, common: &Common) -> io::Result<()> {
    if common.quiet && !dry_run {
        return Ok(());
    }
    let lines: Vec<Text> = words.into_iter().map(|line| Text::of(Tone::Faint, line)).collect();
    print(&mut io::stderr(), &lines, paper(io::stderr().is_terminal(), common))
}

/// Where the run will be kept, if it is.
pub fn store(no_store: bool, common: &Common) -> Result<Option<Store>, Failure> {
    Ok(if no_store { None } else { Some(opened(common)?) })
}

/// Where the run will be kept.
pub fn opened(common: &Common) -> Result<Store, Failure> {
    Ok(kept::open(common).context("the run cannot be kept (--no-store runs without)")?)
}

/// As [`carry_out`], of a run that is called and looked at as was asked for; who looks on stays away from these processors.
pub fn carry_out_as(
    asked: &KeepArgs,
    store: Option<Store>,
    processors: &[u32],
    common: &Common,
    work: impl FnOnce(&mut dyn Sink, &Stop) -> Outcome,
) -> Result<u8, Failure> {
    let beside = page::beside(&asked.page, store.as_ref(), processors, common)?;
    carry_out(store, beside, common, |faces, stop| work(&mut labelled(&asked.label, faces), stop))
}

/// Lets `work` measure while everyone hears what happens, and shows what it came to. The live view would hide where the
/// page is, and shows less: with a page the terminal has lines of progress.
pub fn carry_out(
    store: Option<Store>,
    beside: Beside,
    common: &Common,
    work: impl FnOnce(&mut Faces, &Stop) -> Outcome,
) -> Result<u8, Failure> {
    let stop = interrupt::asked_or_out()?;
    let live = !common.quiet && Live::is_possible() && !beside.is_announced();
    let live = if live { Some(Live::start(Arc::clone(&stop))?) } else { None };
    let aloud = if live.is_none() && !common.quiet { Some(Aloud::start(common)?) } else { None };
    let mut faces = Faces {
        view: RunView::default(),
        progress: Progress::default(),
        live,
        aloud,
        store,
        beside: Some(beside),
        recording: None,
        part: None,
        doubts: Vec::new(),
    };
    let outcome = work(&mut faces, &Stop::new(stop));
    let kept = faces.close();
    if let Some(note) = faces.beside.take().and_then(Beside::end) {
        eprintln!("torment: {note}");
    }
    if let Some(error) = outcome.error {
        return Err(Failure { code: outcome.exit_code, error: anyhow!(error) });
    }
    let lines = || {
        let sketch = forms::sketched(&faces.view, forms::glyphs(false), common);
        [summary(&faces.view), sketch].concat()
    };
    result(lines, || run_json(&faces.view), common)?;
    for doubt in &faces.doubts {
        eprintln!("torment: {doubt}");
    }
    kept.context("the run could not be kept in full")?;
    Ok(outcome.exit_code)
}

/// `--once`: the request as sent and the answer as received.
fn once(plan: &Plan) -> Result<u8, Failure> {
    let exchanges = runner::preview(plan)?;
    let mut out = io::stdout().lock();
    for exchange in &exchanges {
        out.write_all(&exchange.request)?;
        out.write_all(if exchange.request.ends_with(b"\n") { b"" } else { b"\n\n" })?;
        out.write_all(&exchange.answer)?;
        if !exchange.answer.ends_with(b"\n") {
            writeln!(out)?;
        }
        out.flush()?;
        let status = exchange.status.map_or(String::new(), |status| format!("status {status}, "));
        let verdict = match &exchange.verdict {
            Ok(()) => "as expected".to_owned(),
            Err(why) => format!("not what the plan expects: {why}"),
        };
        let connected = match exchange.connect {
            units::Nanos::ZERO => String::new(),
            time => format!("connected in {time}, "),
        };
        eprintln!(
            "\n{}: {status}{verdict}; {connected}first byte after {}, all after {}",
            exchange.to, exchange.first_byte, exchange.service
        );
    }
    let expected = exchanges.iter().all(|exchange| exchange.verdict.is_ok());
    Ok(if expected { exit::MET } else { exit::NOT_MET })
}

/// Everyone who wants to hear what happens: the store, the live view or the progress lines, and the
/// summary at the end.
pub struct Faces {
    view: RunView,
    progress: Progress,
    live: Option<Live>,
    aloud: Option<Aloud>,
    store: Option<Store>,
    beside: Option<Beside>,
    recording: Option<Recording>,
    /// Of the measurement within an experiment that goes on.
    part: Option<Recording>,
    doubts: Vec<String>,
}

impl Sink for Faces {
    fn event(&mut self, event: &Event) {
        let kept = keep(&mut self.recording, self.store.as_ref(), event);
        self.doubt(kept);
        if let (Some(beside), Some(recording), Event::RunStarted { .. }) =
            (&self.beside, &self.recording, event)
        {
            beside.shows(recording.id());
        }
        if let Some(live) = &self.live {
            live.event(event);
        }
        if let Some(aloud) = &self.aloud {
            aloud.say(self.progress.event(&self.view, event));
        }
        self.view.fold(event);
    }

    fn part(&mut self, event: &Event) {
        let kept = keep(&mut self.part, self.store.as_ref(), event);
        self.doubt(kept);
        if matches!(event, Event::RunEnded { .. })
            && let Some(part) = self.part.take()
        {
            let kept = part.finish();
            self.doubt(kept);
        }
    }
}

/// Adds an event to its run, which the first one begins.
fn keep(recording: &mut Option<Recording>, store: Option<&Store>, event: &Event) -> Result<(), store::Error> {
    match (recording.as_mut(), store, event) {
        (None, Some(store), Event::RunStarted { .. }) => {
            *recording = Some(store.begin(event)?);
            Ok(())
        }
        (Some(recording), ..) => recording.append(event),
        (None, ..) => Ok(()),
    }
}

impl Faces {
    /// Goes on with an experiment that was cut short: what it came to before is told first.
    pub fn resume(&mut self, before: &[Event], recording: Recording) {
        if let Some(beside) = &self.beside {
            beside.shows(recording.id());
        }
        self.recording = Some(recording);
        for event in before {
            self.view.fold(event);
            if let Some(live) = &self.live {
                live.event(event);
            }
        }
    }

    fn doubt(&mut self, kept: Result<(), store::Error>) {
        if let Err(error) = kept {
            self.doubts.push(format!("the run is not kept: {error}"));
        }
    }

    /// Gives the terminal back and commits what is left.
    fn close(&mut self) -> Result<(), store::Error> {
        if let Some(live) = self.live.take() {
            live.finish();
        }
        self.doubts
            .extend(self.recording.as_ref().and_then(Recording::doubt).map(|caveat| caveat.to_string()));
        let kept = self.recording.take().map_or(Ok(()), Recording::finish);
        // The terminal last: it may have been stopped.
        self.aloud = None;
        kept
    }
}
