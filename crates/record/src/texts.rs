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
    pub fn visit_texts(&mut self, visitor: TextVisitor<'_>) {
        match self {
            Self::SliceDone { slice, .. } => visit_slice(slice, visitor),
            Self::TrialDone { result, judgement, .. } => {
                let TrialResult { total, caveats, .. } = &mut **result;
                visit_slice(total, visitor);
                visit_caveats(caveats, visitor);
                visit_caveats(&mut judgement.invalid, visitor);
            }
            Self::WorkerLost { lost, .. } => visitor(&mut lost.why),
            Self::Caveat { caveat } => visit_caveats(std::slice::from_mut(caveat), visitor),
            Self::WatchStarted { watched, .. } => visit_coverage(watched, visitor),
            Self::Observed { window, .. } => visit_window(window, visitor),
            Self::Looked { look, .. } => visit_look(look, visitor),
            Self::Logged(ProgramLog { text, .. }) | Self::Noted { text, .. } => visitor(text),
            Self::Visited { visit } => {
                visit.void.iter_mut().for_each(&mut *visitor);
                for taken in &mut visit.taken {
                    visitor(&mut taken.says);
                    visit_caveats(&mut taken.caveats, visitor);
                }
            }
            Self::Profiled { profile } => visit_profile(profile, visitor),
            Self::Stands { standing } => visit_state(standing, visitor),
            Self::Diagnosed { diagnosis } => visit_diagnosis(diagnosis, visitor),
            Self::RunEnded(end) => {
                end.error.iter_mut().for_each(&mut *visitor);
                if let Some(Verdict::Answers { standing }) = &mut end.verdict {
                    visit_state(standing, visitor);
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
    pub fn visit_texts(&mut self, visitor: TextVisitor<'_>) {
        match self {
            Self::Status(_) | Self::Lacking(_) | Self::Closed | Self::Dropped(_) => {}
            Self::Connect(why)
            | Self::Full(why)
            | Self::Protocol(why)
            | Self::Reset(why)
            | Self::Grpc(why)
            | Self::Database(why)
            | Self::Check(why) => visitor(why),
        }
    }
}

fn visit_slice(slice: &mut Slice, visitor: TextVisitor<'_>) {
    for (mut failure, count) in std::mem::take(&mut slice.failures) {
        failure.visit_texts(visitor);
        *slice.failures.entry(failure).or_default() += count;
    }
}

fn visit_caveats(caveats: &mut [Caveat], visitor: TextVisitor<'_>) {
    caveats
        .iter_mut()
        .filter_map(|caveat| caveat.grounds.as_mut())
        .for_each(|grounds| visit_details(grounds, visitor));
}

fn visit_details(details: &mut CaveatDetails, visitor: TextVisitor<'_>) {
    match details {
        CaveatDetails::OfMember { grounds, .. } => visit_details(grounds, visitor),
        CaveatDetails::Text(text)
        | CaveatDetails::NoRoom { why: text, .. }
        | CaveatDetails::NotReset { why: text, .. }
        | CaveatDetails::Lost(LostMember { why: text, .. }) => visitor(text),
        CaveatDetails::Held { refused: why, .. } | CaveatDetails::NotAnswered { most: why, .. } => {
            why.iter_mut().for_each(|why| why.visit_texts(visitor));
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
        | CaveatDetails::HeldBack { .. }
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

fn visit_coverage(watched: &mut WatchCoverage, visitor: TextVisitor<'_>) {
    for subject in &mut watched.subjects {
        visitor(&mut subject.name);
        visitor(&mut subject.command);
        subject.java.iter_mut().for_each(&mut *visitor);
    }
    if let Some(postgres) = &mut watched.postgres {
        visitor(&mut postgres.address);
        postgres.settings.iter_mut().for_each(|(_, value)| visitor(value));
    }
    watched.metrics.iter_mut().for_each(&mut *visitor);
    watched.missing.iter_mut().for_each(|missing| visitor(&mut missing.why));
    watched.lost.iter_mut().for_each(|lost| visitor(&mut lost.why));
}

fn visit_window(window: &mut Window, visitor: TextVisitor<'_>) {
    window.changes.iter_mut().for_each(&mut *visitor);
    for subject in &mut window.subjects {
        subject.titles.iter_mut().for_each(|(title, _)| visitor(title));
        subject.groups.iter_mut().for_each(|group| visitor(&mut group.name));
    }
    window.postgres.iter_mut().flat_map(|postgres| &mut postgres.error).for_each(&mut *visitor);
    if let Some(metrics) = &mut window.metrics {
        metrics.error.iter_mut().for_each(&mut *visitor);
        metrics.series.iter_mut().for_each(|series| visitor(&mut series.name));
    }
}

fn visit_look(look: &mut CloserLook, visitor: TextVisitor<'_>) {
    match look {
        CloserLook::Threads { at, .. } | CloserLook::Stacks { at, .. } => {
            at.iter_mut().for_each(|at| visitor(&mut at.group))
        }
        CloserLook::VirtualThreads(_) => {}
        CloserLook::Blockers { blocked } => {
            blocked.iter_mut().for_each(|blocked| visitor(&mut blocked.statement))
        }
        CloserLook::Statements { statements } => {
            statements.iter_mut().for_each(|statement| visitor(&mut statement.text))
        }
        CloserLook::Refused { why, .. } => visitor(why),
    }
}

fn visit_profile(profile: &mut Profile, visitor: TextVisitor<'_>) {
    profile.processes.iter_mut().for_each(|process| visitor(&mut process.name));
    profile.threads.iter_mut().for_each(&mut *visitor);
}

fn visit_state(state: &mut ExperimentState, visitor: TextVisitor<'_>) {
    visit_caveats(&mut state.caveats, visitor);
    for judged in &mut state.judged {
        visitor(&mut judged.says);
        visit_caveats(&mut judged.caveats, visitor);
    }
}

fn visit_diagnosis(diagnosis: &mut Diagnosis, visitor: TextVisitor<'_>) {
    let Diagnosis { sentences, findings, chain, stations, next, unless, unseen, .. } = diagnosis;
    [sentences, chain, next, unless, unseen].into_iter().flatten().for_each(&mut *visitor);
    stations.iter_mut().for_each(|station| visitor(&mut station.name));
    for finding in findings {
        visitor(&mut finding.sentence);
        finding.evidence.iter_mut().for_each(|evidence| visitor(&mut evidence.text));
    }
}
