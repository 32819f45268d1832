//! Plays a synthetic run into the live view: `cargo run --release -p torment-tui --example replay [find|run|panic]`. Its target holds
//! 2,000 requests/s.

use record::{
    Event, Failure, Judgement, Limit, LimitUnit, Machine, Outcome, Purpose, Recovery, RunId, SearchEnd,
    Slice, TrialResult, Verdict,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use torment_tui::{LiveView, PrintStyle, print};
use units::{Nanos, Rate};
use view::{RunView, summary};

const CAPACITY: f64 = 2000.0;

struct Player {
    live: Option<LiveView>,
    view: RunView,
    stop: Arc<AtomicBool>,
    second: Duration,
    trial: u32,
    bounds: (Option<f64>, Option<f64>),
}

impl Player {
    fn event(&mut self, event: &Event) {
        self.view.fold(event);
        if let Some(live) = &self.live {
            live.event(event);
        }
    }

    fn load(&mut self, purpose: Purpose, rate: f64, seconds: u32) {
        if self.stop.load(Ordering::SeqCst) {
            return;
        }
        self.trial += 1;
        let trial = self.trial;
        let duration = Some(Nanos::from_secs(u64::from(seconds)));
        self.event(&Event::TrialStarted {
            trial,
            purpose,
            rate: Some(Rate(rate)),
            duration,
            at_unix_ms: sys::now().unix_ms(),
        });
        let growth = (rate - CAPACITY).max(0.0);
        let (mut total, mut waiting) = (Slice::default(), 1.0 / (1.0 - (rate / CAPACITY).min(0.95)));
        for index in 0..seconds {
            std::thread::sleep(self.second);
            let noise = f64::from((index * 7 + trial * 13) % 11) / 11.0;
            waiting += growth;
            let us = 500.0 + waiting / CAPACITY * 1e6 + noise * 200.0;
            let mut slice =
                Slice { index, due: rate as u64, sent: rate as u64, loops: 1, ..Slice::default() };
            slice.elapsed = Nanos::from_secs(1);
            let failed = if waiting > 400.0 { rate as u64 / 50 } else { 0 };
            slice.outcomes.add(Outcome::Failed, failed);
            slice.outcomes.add(Outcome::Ok, slice.due - failed);
            slice.failures.insert(Failure::Status(503), failed);
            slice.response.record_many(Nanos::from_secs_f64(us / 1e6), slice.due - slice.due / 50);
            slice.response.record_many(Nanos::from_secs_f64(us * (2.0 + noise * 4.0) / 1e6), slice.due / 50);
            slice.service = slice.response.clone();
            slice.backlog = (waiting - 256.0).max(0.0) as u64;
            slice.outstanding = vec![waiting; 10];
            total.merge_after(&slice);
            self.event(&Event::SliceDone { trial, slice: Box::new(slice) });
            if self.stop.load(Ordering::SeqCst) {
                break;
            }
        }
        let good = growth == 0.0;
        let loaded = total.elapsed;
        let result = TrialResult {
            purpose,
            rate: Rate(rate),
            planned: Nanos::from_secs(u64::from(seconds)),
            loaded,
            drain: Nanos::from_millis(100),
            hopeless: false,
            total,
            recovery: Recovery::NotNeeded,
            caveats: Vec::new(),
            members: Vec::new(),
        };
        let judgement = Judgement {
            loss: growth / rate,
            good,
            growth_per_second: (!good).then_some(growth),
            invalid: Vec::new(),
        };
        self.event(&Event::TrialDone { trial, result: Box::new(result), judgement });
        if matches!(purpose, Purpose::Climb | Purpose::Measure | Purpose::Confirm) {
            let (lower, upper) = &mut self.bounds;
            if good {
                *lower = Some(lower.unwrap_or(0.0).max(rate))
            } else {
                *upper = Some(upper.unwrap_or(rate).min(rate))
            }
            let limits = self.limits();
            self.event(&Event::Bounds { limits, making: None });
        }
        std::thread::sleep(self.second / 4);
    }

    fn limits(&self) -> Vec<Limit> {
        let (lower, upper) = self.bounds;
        vec![Limit {
            held: None,
            goal: "strict".to_owned(),
            lower,
            upper,
            unit: LimitUnit::Requests,
            regular: true,
            good_trials: 3,
            bad_trials: 1,
            lower_due: lower.unwrap_or(0.0) as u64 * 30,
            lower_bad: 0,
            throughput: lower,
        }]
    }
}

fn main() {
    let command = std::env::args().nth(1).unwrap_or_else(|| "find".to_owned());
    let stop = Arc::new(AtomicBool::new(false));
    let live = LiveView::start(Arc::clone(&stop)).map_err(|e| eprintln!("{e}")).ok();
    let second = Duration::from_millis(150);
    let mut play = Player { live, view: RunView::default(), stop, second, trial: 0, bounds: (None, None) };
    play.event(&Event::RunStarted(Box::new(record::RunStart {
        id: RunId("20261120-161502-k3f".to_owned()),
        at_unix_ms: sys::now().unix_ms(),
        version: "0.1.0".to_owned(),
        method: record::METHOD,
        command: record::RunKind::from(command.clone()),
        target: "http://127.0.0.1:8080/queue?us=500".to_owned(),
        goal: "zero-drop".to_owned(),
        plan: String::new(),
        parts: Vec::new(),
        machine: Machine::default(),
        part_of: None,
        label: record::Label::default(),
    })));
    let verdict = if command == "run" {
        play.load(Purpose::Load, 2040.0, 60);
        None
    } else {
        for rate in [250.0, 500.0, 1000.0, 2000.0, 4000.0] {
            play.load(Purpose::Climb, rate, 2);
        }
        assert!(command != "panic", "a panic, to see the terminal given back");
        play.load(Purpose::WarmUp, 1000.0, 6);
        for rate in [2828.0, 2378.0, 2181.0, 2088.0, 2043.0, 2020.0] {
            play.load(Purpose::Measure, rate, 10);
        }
        play.load(Purpose::Confirm, 2000.0, 10);
        let ended =
            if play.stop.load(Ordering::SeqCst) { SearchEnd::Interrupted } else { SearchEnd::Converged };
        let loaded = play.view.time_under_load();
        let trials = play.trial;
        Some(Verdict::Limits {
            limits: play.limits(),
            ended,
            curve: Vec::new(),
            detection_limit: 0.006,
            trials,
            loaded,
            background: None,
            warmed_up: None,
            overloaded: None,
            generator: None,
        })
    };
    play.event(&Event::RunEnded(Box::new(record::RunEnd {
        at_unix_ms: sys::now().unix_ms(),
        verdict,
        exit_code: 0,
        error: None,
    })));
    play.live.take().into_iter().for_each(LiveView::finish);
    print(&mut std::io::stdout(), &summary(&play.view), PrintStyle::for_output(true))
        .expect("standard output takes it");
}
