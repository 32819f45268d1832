//! The load of `run`, the search of `find`.

use crate::draft::{MAX_DURATION, MAX_RATE, Section, SourceText};
use crate::{Arrivals, Error, Key, Load, SearchPlan, Stage};
use units::{Nanos, Rate, Share};

const DEFAULT_DURATION: Nanos = Nanos::from_secs(30);
/// Connections of a closed loop that gives only a number of requests.
const DEFAULT_CONNECTIONS: u32 = 50;
/// No Linux process may have more descriptors (`fs.nr_open` by default).
pub(crate) const MAX_CONNECTIONS: u32 = 1 << 20;

/// The stages of the articles: a hundredth, a tenth, half, all, and a hold.
const ARTICLE: &str = "30s:1% 30s:10% 30s:50% 30s:100% 60s:100%";

impl Section {
    /// `default_connections` is the default number of connections of a closed loop.
    pub(super) fn load(&self, default_connections: Option<u32>) -> Result<Load, Error> {
        let duration = self.time(Key::Duration)?;
        let requests = self.whole(Key::Requests, 1, "a number of requests")?;
        let connections = self.count(Key::Connections, MAX_CONNECTIONS, "a number of connections")?;
        let rate = self.rate(Key::Rate)?;
        let arrivals = self.arrivals()?;
        if rate.is_none() && self.all(Key::Stages).is_empty() {
            if requests.is_none() && connections.is_none() {
                return Err(Error::new(
                    "how much load? Give --rate 1000 (arrivals a second, whether or not the target keeps up), \
                     or --connections 50 (each waits for its answer); `torment find` looks for the limit itself",
                ));
            }
            if self.one(Key::Arrivals).is_some() {
                return Err(self.error_at(Key::Arrivals, "a closed loop plans no arrivals: give a rate"));
            }
            let connections = connections.unwrap_or_else(|| {
                let default_connections = default_connections.unwrap_or(DEFAULT_CONNECTIONS);
                requests.map_or(default_connections, |n| u64::from(default_connections).min(n) as u32)
            });
            let duration = duration.or(requests.is_none().then_some(DEFAULT_DURATION));
            return Ok(Load::Closed { connections, requests, duration });
        }
        if connections.is_some() {
            let message = "connections make a closed loop, a rate or stages an open one: leave one out (an open \
                           loop opens connections as it needs them, at most --max-connections)";
            return Err(self.error_at(Key::Connections, message));
        }
        let stages = match (self.all(Key::Stages), rate) {
            ([], Some(rate)) => {
                if duration.is_some() && requests.is_some() {
                    let message = "a rate with both a duration and a number of requests: leave one out";
                    return Err(self.error_at(Key::Requests, message));
                }
                let count = requests.map(|n| Nanos::from_secs_f64(n as f64 / rate.0));
                if count.is_some_and(|time| time > MAX_DURATION) {
                    return Err(self.error_at(Key::Requests, "at this rate, this takes longer than a month"));
                }
                let duration = duration.or(count).unwrap_or(DEFAULT_DURATION);
                vec![Stage { duration, from: rate, to: rate }]
            }
            (given, rate) => {
                if let Some(key) = [Key::Duration, Key::Requests].into_iter().find(|key| self.has(*key)) {
                    return Err(self.error_at(key, "stages already say how long they last: leave this out"));
                }
                self.stages(given, rate)?
            }
        };
        Ok(Load::Open { stages, arrivals })
    }

    fn stages(&self, given: &[SourceText], rate: Option<Rate>) -> Result<Vec<Stage>, Error> {
        let (mut stages, mut level, mut percent) = (Vec::new(), Rate::ZERO, false);
        for given in given {
            let text = if given.text.trim() == "article" { ARTICLE } else { &given.text };
            for stage in text.split_whitespace() {
                let error = |e: &dyn std::fmt::Display| given.error(format!("'{stage}' is not a stage: {e}"));
                let (time, to) = stage.split_once(':').ok_or_else(|| {
                    error(&"expected DURATION:RATE or DURATION:PERCENT, such as 30s:500 or 30s:10%")
                })?;
                let duration: Nanos = time.parse().map_err(|e| error(&e))?;
                let to = match (to.strip_suffix('%'), rate) {
                    (None, _) => to.parse().map_err(|e| error(&e))?,
                    (Some(_), None) => return Err(error(&"percent of what? Give a rate too, --rate 1000")),
                    (Some(share), Some(rate)) => {
                        percent = true;
                        let share = share.parse::<f64>().ok().filter(|p| (0.0..=1000.0).contains(p));
                        rate * (share.ok_or_else(|| error(&"expected 0% to 1000%"))? / 100.0)
                    }
                };
                if to > MAX_RATE || duration > MAX_DURATION {
                    return Err(error(&format!("at most {MAX_RATE} and a month are possible")));
                }
                // A stage that takes no time is a jump.
                if duration > Nanos::ZERO {
                    stages.push(Stage { duration, from: level, to });
                }
                level = to;
            }
        }
        if rate.is_some() && !percent {
            return Err(
                self.error_at(Key::Rate, "no stage is a percentage of it: leave the rate or the stages out")
            );
        }
        if stages.iter().all(|stage| stage.from == Rate::ZERO && stage.to == Rate::ZERO) {
            return Err(self.error_at(
                Key::Stages,
                "these stages offer nothing: expected a rate above 0 in one of them",
            ));
        }
        if stages.iter().fold(Nanos::ZERO, |sum, stage| sum + stage.duration) > MAX_DURATION {
            return Err(self.error_at(Key::Stages, "these stages take longer than a month"));
        }
        Ok(stages)
    }

    pub(super) fn find(&self) -> Result<SearchPlan, Error> {
        let careful = self.flag(Key::Careful)?.unwrap_or(false);
        let base = if careful { SearchPlan::default().careful() } else { SearchPlan::default() };
        let max = self.rate(Key::Max)?.unwrap_or(base.max);
        // A maximum below the default start moves the start.
        let from = self.rate(Key::From)?.unwrap_or(Rate(base.from.0.min(max.0 / 10.0)));
        if from >= max {
            let key = if self.one(Key::From).is_some() { Key::From } else { Key::Max };
            return Err(self.error_at(
                key,
                format!("the search from {from} to {max} has no room: from must be below max"),
            ));
        }
        let width: Share = self.parsed(Key::Width)?.unwrap_or(base.width);
        if !(width.0 > 0.0 && width.0 <= 0.5) {
            return Err(self.error_at(Key::Width, format!("{width} is not above 0 % and at most 50 %")));
        }
        let trial = self.time(Key::Trial)?;
        // Whatever its trial's length, a rate is decided by the default number of trials.
        let scaled = trial.map_or(base.sum, |trial| trial * (base.sum.0 / base.trial.0));
        let trial = trial.unwrap_or(base.trial);
        let sum = self.time(Key::Sum)?.unwrap_or(scaled);
        if sum < trial {
            return Err(self.error_at(Key::Sum, format!("{sum} is shorter than one trial of {trial}")));
        }
        let budget = self.time(Key::Budget)?;
        if budget.is_some_and(|budget| budget < trial) {
            return Err(self.error_at(
                Key::Budget,
                format!("not enough for one trial of {trial}; give more, or shorten the trial"),
            ));
        }
        let strict = self.flag(Key::Strict)?.unwrap_or(false);
        Ok(SearchPlan { from, max, width, trial, sum, strict, budget, arrivals: self.arrivals()? })
    }

    fn arrivals(&self) -> Result<Arrivals, Error> {
        match self.one(Key::Arrivals).map(|given| given.text.as_str()) {
            None | Some("even") => Ok(Arrivals::Even),
            Some("poisson") => Ok(Arrivals::Poisson),
            Some(other) => {
                Err(self.error_at(Key::Arrivals, format!("'{other}' is neither even nor poisson")))
            }
        }
    }
}
