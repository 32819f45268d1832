//! Foreign text in events: messages of a target, a kernel or a program.

use crate::watch::{CloserLook, WatchCoverage, Window};
use crate::{
    Caveat, CaveatDetails, Diagnosis, Event, ExperimentState, Failure, LostMember, Profile, ProgramLog,
    Slice, TrialResult, Verdict,
};

type TextVisitor<'w> = &'w mut dyn FnMut(&mut String);

impl Event {
    /// Calls `with` for every text that may hold foreign words. Names and descriptions from the plan alone are left out, and so is what
    /// the machine itself is asked where there is no target.
    pub fn visit_texts(&mut self, with: TextVisitor<'_>) {
        match self {
            Self::SliceDone { slice, .. } => of_slice(slice, with),
            Self::TrialDone { result, judgement, .. } => {
                let TrialResult { total, caveats, .. } = &mut **result;
                of_slice(total, with);
                of_caveats(caveats, with);
                of_caveats(&mut judgement.invalid, with);
            }
            Self::WorkerLost { lost, .. } => with(&mut lost.why),
            Self::Caveat { caveat } => of_caveats(std::slice::from_mut(caveat), with),
            Self::WatchStarted { watched, .. } => of_watched(watched, with),
            Self::Observed { window, .. } => of_window(window, with),
            Self::Looked { look, .. } => of_look(look, with),
            Self::Logged(ProgramLog { text, .. }) | Self::Noted { text, .. } => with(text),
            Self::Visited { visit } => {
                visit.void.iter_mut().for_each(&mut *with);
                for taken in &mut visit.taken {
                    with(&mut taken.says);
                    of_caveats(&mut taken.caveats, with);
                }
            }
            Self::Profiled { profile } => of_profile(profile, with),
            Self::Stands { standing } => of_standing(standing, with),
            Self::Diagnosed { diagnosis } => of_diagnosis(diagnosis, with),
            Self::RunEnded(end) => {
                end.error.iter_mut().for_each(&mut *with);
                if let Some(Verdict::Answers { standing }) = &mut end.verdict {
                    of_standing(standing, with);
                }
            }
            Self::RunStarted { .. }
            | Self::TrialStarted { .. }
            | Self::Bounds { .. }
            | Self::Known { .. }
            | Self::FleetStands { .. }
            | Self::Designed { .. }
            | Self::Resumed { .. }
            | Self::VisitStarted { .. }
            | Self::Surveyed { .. }
            | Self::Probing { .. }
            | Self::Measured { .. }
            | Self::Forecast { .. }
            | Self::Ramped { .. } => {}
        }
    }
}

impl Failure {
    /// As [`Event::visit_texts`].
    pub fn visit_texts(&mut self, with: TextVisitor<'_>) {
        match self {
            Self::Status(_) | Self::Lacking(_) | Self::Closed | Self::Dropped(_) => {}
            Self::Connect(why)
            | Self::Full(why)
            | Self::Protocol(why)
            | Self::Reset(why)
            | Self::Grpc(why)
            | Self::Database(why)
            | Self::Check(why) => with(why),
        }
    }
}

fn of_slice(slice: &mut Slice, with: TextVisitor<'_>) {
    for (mut failure, count) in std::mem::take(&mut slice.failures) {
        failure.visit_texts(with);
        *slice.failures.entry(failure).or_default() += count;
    }
}

fn of_caveats(caveats: &mut [Caveat], with: TextVisitor<'_>) {
    caveats
        .iter_mut()
        .filter_map(|caveat| caveat.grounds.as_mut())
        .for_each(|grounds| of_grounds(grounds, with));
}

fn of_grounds(grounds: &mut CaveatDetails, with: TextVisitor<'_>) {
    match grounds {
        CaveatDetails::OfMember { grounds, .. } => of_grounds(grounds, with),
        CaveatDetails::Text(text)
        | CaveatDetails::NoRoom { why: text, .. }
        | CaveatDetails::NotReset { why: text, .. }
        | CaveatDetails::Lost(LostMember { why: text, .. }) => with(text),
        CaveatDetails::Held { refused: why, .. } | CaveatDetails::NotAnswered { most: why, .. } => {
            why.iter_mut().for_each(|why| why.visit_texts(with));
        }
        // Figures, names of programs, and names of machines from the plan.
        CaveatDetails::Unsent { .. }
        | CaveatDetails::Late { .. }
        | CaveatDetails::Due { .. }
        | CaveatDetails::Sent { .. }
        | CaveatDetails::Differ { .. }
        | CaveatDetails::Lacking { .. }
        | CaveatDetails::Busy { .. }
        | CaveatDetails::Stolen { .. }
        | CaveatDetails::Speeds { .. }
        | CaveatDetails::Neighbours { .. }
        | CaveatDetails::Slowed { .. }
        | CaveatDetails::WorkedOn { .. }
        | CaveatDetails::Crowded { .. }
        | CaveatDetails::Places { .. }
        | CaveatDetails::Answers { .. }
        | CaveatDetails::NoMore { .. }
        | CaveatDetails::FewFiles { .. }
        | CaveatDetails::FewPorts { .. }
        | CaveatDetails::Uneven { .. }
        | CaveatDetails::Beside { .. }
        | CaveatDetails::Unlike { .. }
        | CaveatDetails::Missed { .. }
        | CaveatDetails::NoLimit { .. }
        | CaveatDetails::Short { .. } => {}
    }
}

fn of_watched(watched: &mut WatchCoverage, with: TextVisitor<'_>) {
    for subject in &mut watched.subjects {
        with(&mut subject.name);
        with(&mut subject.command);
        subject.java.iter_mut().for_each(&mut *with);
    }
    if let Some(postgres) = &mut watched.postgres {
        with(&mut postgres.address);
        postgres.settings.iter_mut().for_each(|(_, value)| with(value));
    }
    watched.metrics.iter_mut().for_each(&mut *with);
    watched.missing.iter_mut().for_each(|missing| with(&mut missing.why));
    watched.lost.iter_mut().for_each(|lost| with(&mut lost.why));
}

fn of_window(window: &mut Window, with: TextVisitor<'_>) {
    window.changes.iter_mut().for_each(&mut *with);
    for subject in &mut window.subjects {
        subject.titles.iter_mut().for_each(|(title, _)| with(title));
        subject.groups.iter_mut().for_each(|group| with(&mut group.name));
    }
    window.postgres.iter_mut().flat_map(|postgres| &mut postgres.error).for_each(&mut *with);
    if let Some(metrics) = &mut window.metrics {
        metrics.error.iter_mut().for_each(&mut *with);
        metrics.series.iter_mut().for_each(|series| with(&mut series.name));
    }
}

fn of_look(look: &mut CloserLook, with: TextVisitor<'_>) {
    match look {
        CloserLook::Threads { at, .. } | CloserLook::Stacks { at, .. } => {
            at.iter_mut().for_each(|at| with(&mut at.group))
        }
        CloserLook::VirtualThreads(_) => {}
        CloserLook::Blockers { blocked } => {
            blocked.iter_mut().for_each(|blocked| with(&mut blocked.statement))
        }
        CloserLook::Statements { statements } => {
            statements.iter_mut().for_each(|statement| with(&mut statement.text))
        }
        CloserLook::Refused { why, .. } => with(why),
    }
}

fn of_profile(profile: &mut Profile, with: TextVisitor<'_>) {
    profile.processes.iter_mut().for_each(|process| with(&mut process.name));
    profile.threads.iter_mut().for_each(&mut *with);
}

fn of_standing(standing: &mut ExperimentState, with: TextVisitor<'_>) {
    of_caveats(&mut standing.caveats, with);
    for judged in &mut standing.judged {
        with(&mut judged.says);
        of_caveats(&mut judged.caveats, with);
    }
}

fn of_diagnosis(diagnosis: &mut Diagnosis, with: TextVisitor<'_>) {
    let Diagnosis { sentences, findings, chain, stations, next, unless, unseen, .. } = diagnosis;
    [sentences, chain, next, unless, unseen].into_iter().flatten().for_each(&mut *with);
    stations.iter_mut().for_each(|station| with(&mut station.name));
    for finding in findings {
        with(&mut finding.sentence);
        finding.evidence.iter_mut().for_each(|evidence| with(&mut evidence.text));
    }
}
