//! What voids a trial, or is a caveat, by the figures of the generators and their machines.

use record::{Caveat, CaveatDetails, CaveatKind, Failure, MemberFigures, TrialCounts};
use units::{Nanos, Share};

/// A loop that works, or waits for a processor, more than this share of the time has no headroom.
const BUSY_SHARE: f64 = 0.95;
/// It is overloaded only if it works more than this share itself: where it mostly waits, the target uses up the machine
/// both share, and is the limit after all.
const WORKING_SHARE: f64 = 0.8;
/// If the hypervisor steals more than this, a trial measures the neighbours.
const STEAL_SHARE: f64 = 0.10;
/// A worker whose p99 is this many times the median worker's has another path to the target.
const UNEVEN_TIMES: u64 = 2;
/// Least difference for that, while the worker itself is on time.
const UNEVEN_LEAST: Nanos = Nanos::from_millis(1);
/// Least requests a worker must have sent for that.
const UNEVEN_SENT: u64 = 1000;
const UNEVEN_MEMBERS: usize = 3;
/// Fewer answers held back are worth no caveat, nor is a smaller share.
const HELD_BACK_LEAST: u64 = 20;
const HELD_BACK_SHARE: f64 = 0.05;
/// Each answer held back takes one delayed acknowledgement; a pause of the target's own takes none, or not always. So many of them must
/// have been sent, since the target may also pause itself now and then.
const ACKS_SHARE: f64 = 0.98;

/// Each worker is judged by itself, since a mean over many hides an overloaded one; of equal caveats the worst is
/// reported.
pub(super) fn find_caveats(counted: &TrialCounts) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for lost in &counted.lost {
        caveats.push(Caveat::with_details(CaveatKind::WorkerLost, CaveatDetails::Lost(lost.clone())));
    }
    for (failure, &arrivals) in &counted.total.failures {
        if let Failure::Lacking(lack) = *failure {
            caveats.push(Caveat::with_details(lack.into(), CaveatDetails::Lacking { lack, arrivals }));
        }
    }
    let members = &counted.members;
    let mut worst = |kind: CaveatKind, of: &dyn Fn(&MemberFigures) -> Option<(f64, CaveatDetails)>| {
        let found = members.iter().filter_map(|worked| Some((worked.member, of(worked)?)));
        let Some((member, (_, grounds))) = found.max_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b)) else {
            return;
        };
        let alone = members.len() < 2;
        let grounds = if alone {
            grounds
        } else {
            CaveatDetails::OfMember { member, place: String::new(), grounds: Box::new(grounds) }
        };
        caveats.push(Caveat::with_details(kind, grounds));
    };
    worst(CaveatKind::GeneratorBusy, &|worked| {
        let (cpu, waited) = worked.busy_shares();
        let is_busy = cpu.0 > WORKING_SHARE && cpu.0 + waited.0 > BUSY_SHARE;
        is_busy.then_some((cpu.0 + waited.0, CaveatDetails::Busy { worked: cpu, waited }))
    });
    worst(CaveatKind::Steal, &|MemberFigures { stolen: Share(share), .. }| {
        (*share > STEAL_SHARE).then_some((*share, CaveatDetails::Stolen { share: Share(*share) }))
    });
    worst(CaveatKind::ConnectionsLimit, &|worked| {
        let connections = worked.crowded?;
        Some((connections as f64, CaveatDetails::Crowded { connections }))
    });
    let median = median_p99(members);
    worst(CaveatKind::Uneven, &|worked| {
        let (p99, median) = (worked.response_p99?, median?);
        let in_time = worked.pacing_p99.is_some_and(|pacing| pacing < UNEVEN_LEAST);
        let far = p99 > median * UNEVEN_TIMES && p99 > median + UNEVEN_LEAST;
        let is_uneven = in_time && far && worked.sent >= UNEVEN_SENT;
        is_uneven.then_some((p99.as_secs_f64(), CaveatDetails::Uneven { p99, median }))
    });
    // Each has its part of them.
    if let Some(places @ 1..) = members.iter().map(|worked| worked.places).sum() {
        caveats.push(Caveat::with_details(CaveatKind::FewPlaces, CaveatDetails::Places { places }));
    }
    if let Some(answers) = members.iter().filter_map(|worked| worked.answers_each).min() {
        caveats.push(Caveat::with_details(CaveatKind::ClosesUnannounced, CaveatDetails::Answers { answers }));
    }
    caveats.extend(held_back(counted));
    caveats
}

/// Delayed acknowledgements, if a good part of the answers waited for them.
fn held_back(TrialCounts { total, members, .. }: &TrialCounts) -> Option<Caveat> {
    let by_acks = |worked: &&MemberFigures| {
        worked.delayed_acks.is_some_and(|acks| acks as f64 >= ACKS_SHARE * worked.held_back as f64)
    };
    let (mut held_back, mut time) = (0, Nanos::ZERO);
    for worked in members.iter().filter(by_acks) {
        held_back += worked.held_back;
        time += worked.held_back_time;
    }
    let answers = total.statuses.values().sum::<u64>();
    let share = held_back as f64 / answers as f64;
    let details = CaveatDetails::HeldBack {
        share: Share(share.min(1.0)),
        pause: Nanos(time.0.checked_div(held_back)?),
    };
    (held_back >= HELD_BACK_LEAST && share >= HELD_BACK_SHARE)
        .then(|| Caveat::with_details(CaveatKind::DelayedAcks, details))
}

/// Median of the members' p99, if enough of them have one.
fn median_p99(members: &[MemberFigures]) -> Option<Nanos> {
    let mut all: Vec<Nanos> = members.iter().filter_map(|worked| worked.response_p99).collect();
    all.sort_unstable();
    (all.len() >= UNEVEN_MEMBERS).then(|| all[(all.len() - 1) / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Slice;

    #[test]
    fn answers_held_back_are_told_if_acknowledgements_were_delayed() {
        let ms = Nanos::from_millis;
        let held = |held_back: u64, delayed_acks| MemberFigures {
            held_back,
            held_back_time: ms(44) * held_back,
            delayed_acks,
            ..calm(0)
        };
        let told = |members: &[MemberFigures], answers: u64| {
            let total = Slice { statuses: [(200, answers - 5), (404, 5)].into(), ..Slice::default() };
            let found =
                find_caveats(&TrialCounts { members: members.to_vec(), total, ..TrialCounts::default() });
            found
                .into_iter()
                .find(|caveat| caveat.doubt == CaveatKind::DelayedAcks)
                .map(|caveat| caveat.grounds)
        };
        let expected = |share| Some(Some(CaveatDetails::HeldBack { share: Share(share), pause: ms(44) }));
        assert_eq!(told(&[held(400, Some(400))], 500), expected(0.8));
        assert_eq!(told(&[held(400, Some(399))], 500), expected(0.8), "one pause was the target's own");
        assert_eq!(told(&[held(400, Some(2000))], 500), expected(0.8), "others were on idle connections");
        assert_eq!(told(&[held(400, Some(380))], 500), None, "the target itself paused");
        assert_eq!(told(&[held(400, None)], 500), None, "nobody knows");
        assert_eq!(told(&[held(19, Some(19))], 100), None, "few");
        assert_eq!(told(&[held(49, Some(60))], 1000), None, "a small share");
        assert_eq!(told(&[held(50, Some(60))], 1000), expected(0.05));
        assert_eq!(told(&[held(0, Some(60))], 1000), None);
        // Each worker has its own counter, or shares it.
        let workers = [held(100, Some(110)), held(300, Some(400)), held(400, Some(3)), held(400, None)];
        assert_eq!(told(&workers, 2000), expected(0.2));
    }

    fn fleet(members: Vec<MemberFigures>) -> Vec<(String, String)> {
        let found = find_caveats(&TrialCounts { members, ..TrialCounts::default() });
        found.into_iter().map(|caveat| (caveat.doubt.name().to_owned(), caveat.to_string())).collect()
    }

    fn calm(member: u32) -> MemberFigures {
        let ms = Nanos::from_millis;
        MemberFigures {
            member,
            loops: 1,
            due: 5000,
            sent: 5000,
            elapsed: ms(1000),
            cpu: ms(200),
            pacing_p99: Some(Nanos::from_micros(80)),
            response_p99: Some(ms(3)),
            ..MemberFigures::default()
        }
    }

    #[test]
    fn the_one_that_drowns_is_named() {
        assert_eq!(fleet((0..4).map(calm).collect()), []);
        let mut members: Vec<MemberFigures> = (0..4).map(calm).collect();
        members[2].cpu = Nanos::from_millis(970);
        members[3].cpu = Nanos::from_millis(960);
        members[1].response_p99 = Some(Nanos::from_millis(7));
        let found = fleet(members);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["generator-busy", "uneven"]);
        assert!(found[0].1.starts_with("worker 2: "), "{}", found[0].1);
        assert!(found[1].1.starts_with("worker 1: "), "{}", found[1].1);
        // A mean over all would be 58 % busy; a single one has no name.
        let alone = fleet(vec![MemberFigures { cpu: Nanos::from_millis(970), ..calm(0) }]);
        assert!(alone[0].1.starts_with("torment itself worked 97 %"), "{}", alone[0].1);
    }

    #[test]
    fn a_slow_target_is_no_other_way_to_it() {
        let ms = Nanos::from_millis;
        let late =
            |member| MemberFigures { pacing_p99: Some(ms(20)), response_p99: Some(ms(30)), ..calm(member) };
        assert_eq!(fleet(vec![calm(0), calm(1), late(2)]), [], "it was late itself");
        let slow = |member| MemberFigures { response_p99: Some(ms(30)), ..calm(member) };
        assert_eq!(fleet(vec![calm(0), slow(1), slow(2)]), [], "most are");
        assert_eq!(fleet(vec![calm(0), slow(1)]), [], "of two neither is the other's measure");
    }

    #[test]
    fn places_are_those_of_all_who_know_theirs() {
        let places = |of: &[Option<u64>]| {
            let members = of.iter().map(|places| MemberFigures { places: *places, ..calm(0) }).collect();
            fleet(members).into_iter().find(|(kind, _)| kind == "few-places").map(|(_, said)| said)
        };
        let said = places(&[Some(2), Some(3)]).expect("both know");
        assert!(said.starts_with("the target serves 5 connections at a time"), "{said}");
        assert_eq!(places(&[Some(2), None]), None, "the other may have any number");
        assert_eq!(places(&[]), None);
    }

    #[test]
    fn who_closes_unannounced_is_told_as_soon_as_one_knows() {
        let told = |of: &[Option<u64>]| {
            let members = of
                .iter()
                .map(|answers_each| MemberFigures { answers_each: *answers_each, ..calm(0) })
                .collect();
            fleet(members).into_iter().find(|(kind, _)| kind == "closes-unannounced").map(|(_, said)| said)
        };
        let said = told(&[None, Some(100), Some(1)]).expect("two know");
        assert!(said.starts_with("the target closes each connection after its answer"), "{said}");
        let said = told(&[Some(100)]).expect("it knows");
        assert!(said.starts_with("the target closes each connection after 100 answers"), "{said}");
        assert_eq!(told(&[None]), None);
    }
}
