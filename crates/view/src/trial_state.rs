use crate::wording::format_rate;
use crate::{Tone, Trial};
use record::{ExhaustedResource, Failure, Outcome, Outcomes};
use units::{Share, grouped};

units::named! {
    /// A trial's class in the search, in one word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TrialState {
        /// Meets the goal.
        Good = "good",
        /// Fails it.
        Bad = "bad",
        /// Does not count.
        Void = "void",
        /// Not judged: a warm-up, a recovery check, or cut short.
        Unjudged = "–",
    }
}

impl TrialState {
    /// The word's tone.
    pub fn tone(self) -> Tone {
        match self {
            Self::Good => Tone::Good,
            Self::Bad => Tone::Bad,
            Self::Void => Tone::Warn,
            Self::Unjudged => Tone::Faint,
        }
    }
}

impl Trial {
    /// Its class in the search.
    pub fn state(&self) -> TrialState {
        match &self.judgement {
            None => TrialState::Unjudged,
            Some(_) if !self.purpose.is_judged() => TrialState::Unjudged,
            Some(_) if self.is_void() => TrialState::Void,
            Some(judgement) if judgement.good => TrialState::Good,
            Some(_) => TrialState::Bad,
        }
    }
}

/// The tone of a count of this outcome.
pub fn outcome_tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Ok => Tone::Good,
        Outcome::Unsent => Tone::Warn,
        _ => Tone::Bad,
    }
}

/// How the target fails in a bad trial, from its outcomes: a growing queue, or what most of the bad arrivals share. `None` if nothing is
/// bad.
pub fn why_bad(trial: &Trial) -> Option<String> {
    reason(trial, &trial.rate.map(|rate| format!(" at {rate}")).unwrap_or_default())
}

/// The same, for where the rate is already given.
pub(crate) fn why_bad_without_rate(trial: &Trial) -> Option<String> {
    reason(trial, "")
}

/// Why a trial is bad or void, for where the rate is already given.
pub(crate) fn why(trial: &Trial) -> Option<String> {
    match trial.state() {
        TrialState::Bad => why_bad_without_rate(trial),
        TrialState::Void => trial.void_reasons().first().map(ToString::to_string),
        TrialState::Unjudged => why_mostly_failed(trial),
        TrialState::Good => None,
    }
}

/// Why most requests of a trial failed, if they did, whether it is judged or not.
pub(crate) fn why_mostly_failed(trial: &Trial) -> Option<String> {
    let figures = &trial.figures;
    (figures.outcomes.failed * 2 > figures.due).then(|| why_bad_without_rate(trial)).flatten()
}

fn reason(trial: &Trial, at: &str) -> Option<String> {
    let outcomes = &trial.figures.outcomes;
    let arrivals = trial.arrival_kind.arrivals();
    let growth = trial.judgement.as_ref().and_then(|j| j.growth_per_second);
    let bad = outcomes.bad();
    if let Some(growth) = growth
        && outcomes.failed * 2 <= bad
    {
        let (by, also) = (format_rate(growth), and_also(outcomes));
        return Some(format!("the queue grows by {by} {arrivals} a second{at}{also}"));
    }
    let worst = Outcome::ALL.into_iter().filter(|o| o.is_bad()).max_by_key(|o| outcomes.get(*o))?;
    let count = outcomes.get(worst);
    if count == 0 {
        return None;
    }
    let what = match worst {
        Outcome::Failed => match trial.figures.worst_failure() {
            Some((Failure::Status(code), _)) => format!("it answers with status {code}"),
            Some((Failure::Connect(why), _)) => format!("connections cannot be made ({why})"),
            Some((Failure::Full(why), _)) => format!("the database takes no more sessions ({why})"),
            Some((Failure::Lacking(lack), _)) => format!("torment has no {lack} left"),
            Some((Failure::Closed, _)) => "it closes connections before the answer is complete".to_owned(),
            Some((Failure::Dropped(why), _)) => format!("it closes used connections ({why})"),
            Some((Failure::Protocol(why), _)) => format!("its answers cannot be understood ({why})"),
            Some((Failure::Reset(why), _)) => format!("it refuses streams ({why})"),
            Some((Failure::Grpc(why), _)) => format!("calls end with grpc-status {why}"),
            Some((Failure::Database(why), _)) => format!("statements fail ({why})"),
            Some((Failure::Check(why), _)) => format!("answers are not what the plan expects ({why})"),
            None => format!("{arrivals} fail"),
        },
        Outcome::Timeout => format!("{arrivals} time out"),
        Outcome::Late => "answers come later than the goal allows".to_owned(),
        Outcome::Refused => format!("too many {arrivals} wait, so no more were started"),
        Outcome::Unfinished => format!("answers are still missing {} after the load", trial.drain),
        Outcome::Ok | Outcome::Unsent => return None,
    };
    let share = Share::of(count, trial.figures.due);
    Some(format!("{what}: {} of {} ({share}){at}", grouped(count), trial.count(trial.figures.due)))
}

/// What else happens while the queue grows; unfinished arrivals go without saying.
fn and_also(outcomes: &Outcomes) -> String {
    let worst = [Outcome::Failed, Outcome::Timeout, Outcome::Refused, Outcome::Late]
        .into_iter()
        .max_by_key(|o| outcomes.get(*o))
        .expect("four are not none");
    let does = match worst {
        Outcome::Failed => "failed",
        Outcome::Timeout => "timed out",
        Outcome::Refused => "were not even started",
        _ => "came later than the goal allows",
    };
    match outcomes.get(worst) {
        0 => String::new(),
        count => format!(", and {} of {} {does}", grouped(count), grouped(outcomes.total())),
    }
}

/// What to check when nothing but this failure comes back.
pub(crate) fn what_to_check(failure: &Failure) -> &'static str {
    match failure {
        Failure::Status(300..=399) => {
            "redirects are not followed but count as answers: give the final address, or accept the status \
             with --expect-status"
        }
        Failure::Status(401 | 403) => "give the credentials it asks for, such as -H 'Authorization: …'",
        Failure::Status(404 | 410) => "check the path of the address",
        Failure::Status(429) => "the target limits the rate itself: lift that limit for the test",
        Failure::Status(400..=499) => {
            "check method, headers and body; --once shows one request and its answer in full"
        }
        Failure::Status(500..=599) => {
            "look at the target's own log; --once shows one request and its answer in full"
        }
        Failure::Status(_) => "if you expect that answer, say so with --expect-status",
        Failure::Full(_) => "lower --pool, or raise max_connections of the server",
        Failure::Lacking(ExhaustedResource::Descriptor) => "raise ulimit -n, or lower --max-connections",
        Failure::Lacking(ExhaustedResource::Port) => "use keep-alive, or widen net.ipv4.ip_local_port_range",
        Failure::Lacking(ExhaustedResource::Watch) => "raise fs.epoll.max_user_watches",
        Failure::Lacking(ExhaustedResource::Memory) => "raise net.ipv4.tcp_mem, or lower --max-connections",
        Failure::Connect(_) => "check that the target runs and listens at this address",
        Failure::Closed => "look at the target's own log; it may expect TLS, or refuse kept connections",
        Failure::Dropped(_) => {
            "the target closes idle connections before you reuse them: raise its keep-alive time-out"
        }
        Failure::Reset(_) => "look at the target's own log; it may take fewer streams: try --streams",
        Failure::Grpc(_) => {
            "check the path (/package.Service/Method), the message in the body, and the target's own log"
        }
        Failure::Database(_) => "look at the statement and at the server's log; --once runs it once",
        Failure::Check(_) => "--once shows one request and its answer in full",
        Failure::Protocol(_) => {
            "check that the address speaks HTTP, and whether it should begin with https://"
        }
    }
}
