//! Freezes in words, for the rule that names them as the cause, and the view.

use super::Freezes;
use units::{Nanos, Rate, grouped};

/// Lengths that differ by more than this factor are not reported as one.
const ALIKE_FACTOR: f64 = 1.2;

/// `froze 8 times`.
pub fn format_times(count: usize) -> String {
    match count {
        1 => "froze once".to_owned(),
        2 => "froze twice".to_owned(),
        count => format!("froze {} times", grouped(count as u64)),
    }
}

/// Rounds a freeze's length to tenths of a second if it is longer than a few, else to ten milliseconds.
pub fn rounded_length(time: Nanos) -> Nanos {
    let step = if time >= Nanos::from_secs(3) { 100_000_000 } else { 10_000_000 };
    Nanos((time.0 + step / 2) / step * step)
}

impl Freezes {
    /// Their length and frequency: ` for 1 s each, every 10 s`.
    pub fn format_lengths(&self) -> String {
        let (median, longest) = (rounded_length(self.median()), rounded_length(self.longest()));
        let suffix = match self.are_alike() {
            true if self.each.len() > 1 => " each".to_owned(),
            true => String::new(),
            false => format!(" (median), {longest} at most"),
        };
        format!(" for {median}{suffix}{}", self.format_spacing())
    }

    /// Typical longest length.
    pub fn length(&self) -> Nanos {
        rounded_length(if self.are_alike() { self.median() } else { self.longest() })
    }

    /// How many have to wait for the end of one at this rate, in words made by `count`; none if nobody has to.
    pub fn format_left(&self, rate: Rate, count: impl Fn(u64) -> String) -> Option<String> {
        let length = self.length();
        let left = (rate.0 * length.as_secs_f64()).round() as u64;
        let subject = match self.each.len() {
            1 => "it left",
            _ if self.are_alike() => "each freeze leaves",
            _ => "the longest leaves",
        };
        (left > 0).then(|| format!("at {rate} {subject} {} waiting", count(left)))
    }

    /// What to do about them, by what the target did then.
    pub fn advice(&self) -> String {
        match self.activity.code {
            "quota" => "raise the processor quota, or spread out what uses it up".to_owned(),
            "collector" => "give the heap more room, or choose a collector with short pauses".to_owned(),
            "safepoint" => "the virtual machine's log names them: -Xlog:safepoint".to_owned(),
            "stolen" => "use a machine whose processors the hypervisor gives to no other guest".to_owned(),
            "stopped" => "find what stops it: SIGSTOP, a debugger, a snapshot, a frozen container".to_owned(),
            "disk" => "look at what else uses that disk at those moments".to_owned(),
            "waiting" => {
                "take a stack trace at such a moment: it shows what that thread waits for".to_owned()
            }
            "busy" => "profile it while it freezes: torment profile PID -d 60s".to_owned(),
            "computing" => {
                "profile it while it freezes (torment profile PID -d 60s): a collector, or one long piece of work"
                    .to_owned()
            }
            _ => {
                let when = match self.period {
                    Some(period) => format!("look for what happens every {}", rounded_length(period)),
                    None => "look into the target's log at those moments".to_owned(),
                };
                format!("{when}: a timer, a collector, a checkpoint, a backup, a neighbour")
            }
        }
    }

    /// Whether all have about the same length.
    fn are_alike(&self) -> bool {
        self.longest().as_secs_f64() <= ALIKE_FACTOR * self.median().as_secs_f64()
    }

    /// Their spacing: the period, or else, for freezes in one trial, as observed.
    fn format_spacing(&self) -> String {
        if let Some(period) = self.period {
            return format!(", every {}", rounded_length(period));
        }
        let of_one = self.each.windows(2).all(|pair| pair[0].trial == pair[1].trial);
        let gaps = self.each.windows(2).map(|pair| pair[1].to - pair[0].to);
        match (gaps.clone().min(), gaps.max()) {
            (Some(least), Some(most)) if of_one => {
                let alike = most.as_secs_f64() <= ALIKE_FACTOR * least.as_secs_f64();
                let least = if alike { String::new() } else { format!("{} to ", rounded_length(least)) };
                format!(", {least}{} apart", rounded_length(most))
            }
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::freezes::{Freeze, FreezeActivity};

    /// This many, of a second each.
    fn froze(count: usize, code: &'static str, period: Option<Nanos>) -> Freezes {
        let freeze = Freeze { trial: 1, from: Nanos::ZERO, to: Nanos::from_secs(1), ended: true };
        Freezes {
            each: vec![freeze; count],
            loaded_time: Nanos::from_secs(12) * count as u64,
            frozen_time: Nanos::from_secs(count as u64),
            period,
            activity: FreezeActivity { code, text: String::new() },
            rate_between: None,
            failed_rates: Vec::new(),
        }
    }

    /// 456/s, 0.9 of the 506/s that failed, was reported for a target that held 498/s.
    #[test]
    fn in_the_long_run_it_holds_no_more_than_the_rest_of_the_time_allows() {
        let every = Some(Nanos::from_secs(10));
        let found = Freezes { failed_rates: vec![Rate(506.0)], ..froze(5, "stopped", every) };
        let held = Rate(498.0);
        let about = |rate: Option<Rate>| rate.map(|rate| rate.0.round());
        assert_eq!(about(found.sustained_rate(held)), Some(448.0), "9 of 10 s");
        let by_share = Freezes { period: None, ..found.clone() };
        assert_eq!(about(by_share.sustained_rate(held)), Some(457.0), "11 of 12 s");
        let queued = Freezes { rate_between: Some(Rate(510.0)), ..found.clone() };
        assert_eq!(about(queued.sustained_rate(held)), Some(459.0), "what it answers between them");
        assert_eq!(found.sustained_rate(Rate(600.0)), None, "nothing failed without one");
        let once = Freezes { failed_rates: vec![Rate(506.0)], ..froze(1, "stopped", every) };
        assert_eq!(once.sustained_rate(held), None, "once is a hiccup");
        // Keycloak was frozen for 0.4 % of the time, held 4,649/s, "about 4,270 for longer".
        let hardly = Freezes { loaded_time: Nanos::from_secs(1_250), period: None, ..queued };
        assert_eq!(hardly.sustained_rate(Rate(560.0)), None, "other things vary");
    }

    /// A load whose target froze every ten seconds reported what a thread waited for, but not what to do.
    #[test]
    fn whatever_it_did_meanwhile_there_is_something_to_do() {
        let advice = |code, period| froze(1, code, period).advice();
        let every = Some(Nanos::from_secs(10));
        let known =
            ["stopped", "quota", "collector", "safepoint", "stolen", "disk", "waiting", "busy", "computing"];
        for code in known {
            assert!(!advice(code, every).contains("every 10 s"), "{code} is explained");
        }
        assert!(advice("nothing", every).starts_with("look for what happens every 10 s: a timer"));
        assert!(advice("unseen", None).starts_with("look into the target's log"));
    }
}
