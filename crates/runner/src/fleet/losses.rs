//! Workers missing from a trial, and why.

use super::member_state::MemberState;
use super::{Fleet, FleetTrial};
use fleet::{Absence, SLICE_LATE};
use record::LostMember;
use schedule::OfferedLoad;
use std::collections::BTreeMap;
use units::Nanos;

impl Fleet {
    /// Workers whose reports are incomplete, or who would not have gone on.
    pub(super) fn lost_members(&self, fleet_trial: &FleetTrial, offer: &OfferedLoad) -> Vec<LostMember> {
        let FleetTrial { coordinator, ledger, leaving, stray_arrivals, .. } = fleet_trial;
        let mut lost: BTreeMap<u32, (Nanos, String)> = leaving.clone();
        if self.present_loops().is_empty() && coordinator.has_failed() {
            let why = |state: &MemberState| {
                state.gone_reason.clone().unwrap_or_else(|| "it was not ready in time".to_owned())
            };
            lost.extend(self.members.iter().map(|(number, state)| (*number, (Nanos::ZERO, why(state)))));
        }
        for (member, absence) in coordinator.absent() {
            let (at, why) = match absence {
                Absence::Unready => (Nanos::ZERO, "it did not say in time that it would begin".to_owned()),
                Absence::Overdue(until) => {
                    let cut = self.members.get(&member).and_then(|state| state.cut.as_ref());
                    let why = match cut {
                        Some((_, why)) => format!("{why}; it was not back within {SLICE_LATE}"),
                        None => format!("it reported nothing for more than {SLICE_LATE}"),
                    };
                    (*until, why)
                }
                Absence::Gone(at, why) => (*at, why.clone()),
            };
            lost.entry(member).or_insert((at, why));
        }
        // A lost worker voids the trial, and the others may learn of its end late.
        if lost.is_empty() {
            let why = "it continued its load past the end";
            lost.extend(coordinator.overran().map(|(member, until)| (member, (until, why.to_owned()))));
        }
        if lost.is_empty() {
            let why = "it stopped its load by itself, having been out of contact for too long";
            // A fixed number of requests is all there is.
            let counted = matches!(offer, OfferedLoad::Closed { requests: Some(_), .. });
            let ends = if counted { Nanos::ZERO } else { offer.latest_end() };
            lost.extend(
                coordinator.fell_short(ends).map(|(member, until)| (member, (until, why.to_owned()))),
            );
        }
        let entry = |member: u32, at: Nanos, unaccounted: u64, why: String| LostMember {
            member,
            place: self.place(member).to_owned(),
            at,
            unaccounted,
            why,
        };
        let lost = lost.into_iter().map(|(member, (at, why))| {
            entry(member, at, ledger.unaccounted(member), self.why_lost(member, why))
        });
        let stray = |(member, sent): &(u32, u64)| {
            let why = "it learned too late that the start was put off, and does not count";
            entry(*member, Nanos::ZERO, *sent, why.to_owned())
        };
        lost.chain(stray_arrivals.iter().filter(|(_, sent)| *sent > 0).map(stray)).collect()
    }
}
