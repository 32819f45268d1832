//! Processes that make the loads of one plan after the other, together, conducted as one engine is: each sends its part by the clock, tells every second what
//! it counted, and is judged by itself. One that is lost voids its trial and nothing else.

mod asked;
mod entrance;
mod gather;
mod grow;
mod hand;
mod hold;
mod losses;
mod pods;
mod ssh;
mod turn;
mod watchers;
mod words;

pub use asked::{FleetAsked, WatchersAsked};
pub use entrance::Entrance;
pub(crate) use pods::at_home_alone;
pub(crate) use watchers::Watchers;

use crate::Stop;
use crate::worker::SILENT;
use cluster::Workforce;
use engine::{Carrier, Job, LEAD, Moment, Wish};
use fleet::{Duty, Instruction, Ledger, Loops, Move, Muster, Tidings};
use grow::Cost;
use hand::Hand;
use link::{News, Post};
use plan::Plan;
use record::{Caveat, Counted, FleetMember, Slice, Worked};
use schedule::Offer;
use ssh::Arriving;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use units::Nanos;

/// How often is looked whether somebody wishes something.
const ASK: Duration = Duration::from_millis(50);
/// So much of what has come is heard before anybody is judged by the clock.
const HEARD: usize = 4096;
/// Who has not told so long after the limit that all is answered is not waited for.
const SETTLE_SPARE: Nanos = Nanos::from_secs(5);
/// A worker whose line is cut hears nothing from then on, and ends its load after six seconds. What it told last is at most a second older, and so is
/// the last that it heard.
const GOES_ON: Nanos = Nanos(SILENT.0 + 2_000_000_000);

/// Workers, and the line to each.
pub(crate) struct Fleet {
    post: Post,
    /// Whose loads are made.
    plan: Plan,
    /// Those that this process trusts: what it believes, they do.
    authorities: Option<Vec<u8>>,
    asked: FleetAsked,
    /// What is asked of the target; none where its name is known to others only.
    job: Option<Job>,
    /// By number.
    hands: BTreeMap<u32, Hand>,
    /// What there is of it in a cluster.
    workforce: Option<Workforce>,
    /// How often one was started in a row that did not come.
    starts: BTreeMap<u32, u32>,
    /// Those that are on their way.
    arriving: Arriving,
    /// What is doubtful about those that are ready, until it is told,
    caveats: Vec<Caveat>,
    /// and of this plan's loads what was told.
    doubted: Vec<Caveat>,
    /// Why one of them cannot do its part, until that is told.
    refusal: Option<String>,
    /// Nobody is waited for once this is asked.
    stop: Stop,
    /// What the last load cost whoever made it.
    cost: Option<Cost>,
    /// No more are asked for than so many.
    most: u32,
    /// Some have come since each was told its share.
    are_more: bool,
    /// Who took part when that was told last.
    told: Vec<FleetMember>,
    /// Who is to come may come.
    is_open: bool,
    /// Who holds connections open.
    holders: Vec<u32>,
    /// Of what all were told last.
    share: u64,
    /// Who makes the first request of the plan; none once there was a load.
    first: Option<u32>,
    /// Of what was begun last: it is never the same twice.
    trial: u64,
    /// Who was told lately not to begin which of them.
    called_off: BTreeSet<(u64, u32)>,
    /// Of the first arrival of the next trial, counted over the whole run.
    next_number: u64,
}

/// One trial while it lasts.
struct Course {
    muster: Muster,
    ledger: Ledger,
    worked: BTreeMap<u32, Worked>,
    /// Those that were asked to go by others, and still tell what they counted: since when.
    leaving: BTreeMap<u32, (Nanos, String)>,
    /// What others sent than those who were to: they heard too late that they were not to begin.
    strays: Vec<(u32, u64)>,
    /// All are ready, and it has not been told yet that it begins.
    begins: bool,
}

impl Fleet {
    /// Those that can take part.
    fn there(&self) -> BTreeMap<u32, u32> {
        let there = self.hands.iter().filter(|(_, hand)| hand.is_there());
        there.map(|(number, hand)| (*number, hand.loops)).collect()
    }

    fn tell_all(&self, what: impl Fn() -> Instruction) {
        for (number, _) in self.hands.iter().filter(|(_, hand)| hand.is_in_touch()) {
            self.post.send(*number, what());
        }
    }

    /// Does what the muster asks for.
    fn make(&mut self, what: Move, course: &mut Course, loops: &Loops, offer: &Offer, drain: Nanos) {
        match what {
            Move::Arm { trial, start } => {
                self.trial = trial;
                self.called_off = self.called_off.split_off(&(trial.saturating_sub(2), 0));
                for (number, hand) in &self.hands {
                    let Some(clock) = hand.clock.filter(|_| !loops.of(*number).is_empty()) else { continue };
                    let duty = Duty {
                        trial,
                        offer: offer.clone(),
                        loops: loops.of(*number).to_vec(),
                        of: loops.all(),
                        first_number: self.next_number,
                        start: clock.theirs(start),
                        drain,
                    };
                    self.post.send(*number, Instruction::Arm(Box::new(duty)));
                }
            }
            Move::Cancel { trial } => {
                self.called_off.extend(loops.members().map(|member| (trial, member)));
                self.tell_all(|| Instruction::Cancel { trial });
            }
            Move::Begin => course.begins = true,
            Move::Stop { trial, at } => {
                course.ledger.ends(at);
                self.tell_all(|| Instruction::Stop { trial, at });
            }
            Move::Lose { member } => {
                if let Some(hand) = self.hands.get_mut(&member) {
                    // One that hangs is ended: it must not wake up and go on.
                    hand.end();
                }
            }
        }
    }

    /// What is heard in a trial.
    fn take(&mut self, number: u32, news: News, course: &mut Course) {
        let now = now();
        let Course { muster, ledger, worked, leaving, strays, .. } = course;
        let told_of = self.trial;
        match news {
            News::Told(Tidings::Armed { trial }) => muster.armed(number, trial),
            News::Told(Tidings::Slice { trial, slice }) if trial == told_of => {
                ledger.slice(number, &slice);
                muster.told(number, ledger.until(number));
                if let Some(second) = ledger.acknowledge(number) {
                    self.post.send(number, Instruction::Heard { trial, second });
                }
            }
            News::Told(Tidings::Over { trial, at, slices, worked: mut did }) if trial == told_of => {
                did.member = number;
                let before = self.hands.get(&number).and_then(|hand| hand.clock);
                let clock = self.post.reading(number, now).or(before);
                did.clock = clock.map_or(Nanos::ZERO, |clock| clock.bound);
                worked.insert(number, *did);
                ledger.over(number, at, slices);
                muster.over(number, at);
            }
            News::Told(Tidings::Over { trial, worked, .. }) if self.called_off.remove(&(trial, number)) => {
                strays.push((number, worked.sent));
            }
            News::Told(Tidings::Leaving { why }) => {
                leaving.insert(number, (now - muster.start(), why.clone()));
                self.hear(Some((number, News::Told(Tidings::Leaving { why }))));
                muster.stop(now);
            }
            // It may make another line, and tell then what it counted meanwhile.
            News::Gone(why) if self.is_cut(number, &why) => {}
            News::Joined(hello) if self.comes_back(number, &hello) => {
                if let Some(at) = muster.stopped() {
                    self.post.send(number, Instruction::Stop { trial: told_of, at });
                }
            }
            News::Gone(why) => {
                self.hear(Some((number, News::Gone(why))));
                let why = self.hands.get(&number).and_then(|hand| hand.gone.clone()).unwrap_or_default();
                muster.lost(number, why, now);
            }
            News::Jumped(_) => muster.lost(number, "its clock was set".to_owned(), now),
            other => self.hear(Some((number, other))),
        }
    }
}

impl Carrier for Fleet {
    /// Who is lost meanwhile is started again for the next one: for what a target holds it does not matter how many ask, so that
    /// whoever is there makes it if that fails.
    fn trial(
        &mut self,
        offer: &Offer,
        drain: Nanos,
        on_begin: &mut dyn FnMut(Moment),
        on_slice: &mut dyn FnMut(&Slice),
        wish: &mut dyn FnMut(&Slice, Nanos) -> Wish,
    ) -> Counted {
        self.await_cut();
        if self.holders.is_empty() {
            self.first = None;
            if std::mem::take(&mut self.are_more) {
                self.share_anew();
            }
            self.grow_for(offer);
            self.bring_back();
        } else {
            // What stands stays as it is.
            self.agree();
        }
        let there = self.there();
        let lost_before = self.lost_holders();
        let loops = Loops::dealt(there.clone());
        let round_trips = self.hands.values().filter_map(|hand| hand.clock).map(|clock| clock.round_trip);
        let muster =
            Muster::begin(self.trial + 1, there.into_keys(), round_trips.max().unwrap_or_default(), now());
        let mut course = Course {
            muster,
            ledger: Ledger::of(&loops, offer),
            worked: BTreeMap::new(),
            leaving: BTreeMap::new(),
            strays: Vec::new(),
            begins: false,
        };
        let mut wished = Wish::GoOn;
        loop {
            let mut lost = Vec::new();
            while let Some(what) = course.muster.next_move() {
                if let Move::Lose { member } = what {
                    lost.push(member);
                }
                self.make(what, &mut course, &loops, offer, drain);
            }
            // The end of the load first: what they owe ends with it.
            // One that was not started from here cannot be ended.
            let goes_on = if self.asked.is_joined() { GOES_ON } else { Nanos::ZERO };
            lost.into_iter().for_each(|member| course.ledger.lost(member, goes_on));
            while let Some(slice) = course.ledger.next_whole() {
                on_slice(&slice);
            }
            if course.muster.has_failed() || course.muster.is_over() && course.ledger.is_over() {
                break;
            }
            let begins = course.muster.start() - LEAD;
            if course.begins && now() >= begins {
                course.begins = false;
                on_begin(Moment::now());
            }
            let wakes = if course.begins { Some(begins) } else { course.muster.decides() };
            let ahead = |moment: Nanos| Duration::from_nanos((moment - now()).0);
            let mut patience = wakes.map_or(ASK, |moment| ASK.min(ahead(moment)));
            for _ in 0..HEARD {
                let Some((number, news)) = self.post.next(patience) else { break };
                self.take(number, news, &mut course);
                patience = Duration::ZERO;
            }
            let now = now();
            course.muster.tick(now);
            if wished == Wish::GoOn {
                wished = wish(course.ledger.total(), now - course.muster.start());
                if wished > Wish::GoOn {
                    course.muster.stop(now);
                }
            }
        }
        self.trial = course.muster.trial();
        let lost = [lost_before, self.lost(&course, offer)].concat();
        let mut counted = course.ledger.end();
        // Those that were lost took numbers with them of which nobody told.
        let taken = match offer {
            Offer::Open(schedule) if !lost.is_empty() => schedule.expected().ceil() as u64,
            _ => 0,
        };
        self.next_number += counted.total.due.max(taken);
        counted.members = course.worked.into_values().collect();
        self.cost = Cost::of(offer, &counted.members).or(self.cost);
        counted.lost = lost;
        counted
    }

    fn settle(&mut self, limit: Nanos, interrupted: &dyn Fn() -> bool) -> Option<Nanos> {
        let (began, trial) = (now(), self.trial);
        let mut awaited: Vec<u32> = self.there().into_keys().collect();
        self.tell_all(|| Instruction::Settle { limit });
        let mut in_time = true;
        while !awaited.is_empty() && now() - began <= limit + SETTLE_SPARE {
            let news = self.post.next(ASK);
            match &news {
                Some((number, News::Told(Tidings::Settled { trial: which }))) if *which == trial => {
                    awaited.retain(|member| member != number);
                }
                Some((number, News::Gone(why))) if !self.is_cut(*number, why) => {
                    awaited.retain(|member| member != number);
                }
                // What it was told may have been lost.
                Some((number, News::Joined(_))) => {
                    self.post.send(*number, Instruction::Settle { limit });
                }
                _ => {}
            }
            self.hear(news);
            if in_time && (now() - began > limit || interrupted()) {
                in_time = false;
                self.tell_all(|| Instruction::Abandon);
            }
        }
        in_time.then(|| now() - began)
    }

    fn stands(&mut self) -> Option<Vec<FleetMember>> {
        let member = |(number, hand): (&u32, &Hand)| FleetMember {
            number: *number,
            place: hand.place.clone(),
            on: self.asked.on(*number),
            pid: hand.pid,
            loops: hand.loops,
            clock: hand.clock.map_or(Nanos::ZERO, |clock| clock.bound),
        };
        let members: Vec<FleetMember> =
            self.hands.iter().filter(|(_, hand)| hand.is_there()).map(member).collect();
        // A process of a pod has the same number in each.
        let same = |one: &FleetMember, other: &FleetMember| {
            (one.number, one.pid, &one.place) == (other.number, other.pid, &other.place)
        };
        let is_told =
            members.len() == self.told.len() && members.iter().zip(&self.told).all(|(a, b)| same(a, b));
        if is_told {
            return None;
        }
        self.told.clone_from(&members);
        Some(members)
    }

    fn doubts(&mut self) -> Vec<Caveat> {
        // What one of them lacks on a machine that all share was told of the first.
        let caveats = std::mem::take(&mut self.caveats);
        let is_news = |caveat: &Caveat| !self.asked.is_here() && !self.doubted.contains(caveat);
        let caveats: Vec<Caveat> = caveats.into_iter().filter(is_news).collect();
        self.doubted.extend_from_slice(&caveats);
        caveats
    }

    fn grow(&mut self) -> bool {
        self.grow_after()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.arriving.give_up();
        self.tell_all(|| Instruction::Leave);
        for hand in self.hands.values_mut() {
            hand.leave(hand.is_in_touch());
        }
    }
}

fn now() -> Nanos {
    Nanos(sys::monotonic_ns())
}
