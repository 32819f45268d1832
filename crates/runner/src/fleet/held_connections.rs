//! Connections held open by the workers together, each with ports of its own.

use super::membership::{RECONNECT_LIMIT, STARTS_MOST};
use super::{Fleet, STOP_POLL};
use engine::{ConnectionHolder, HeldConnections};
use fleet::{Instruction, LoopAssignment, MemberReport};
use link::MemberEvent;
use record::LostMember;
use units::Nanos;

impl Fleet {
    /// The most connections of all: every loop has equally many, so the worker that can open fewest limits them.
    pub(super) fn connections_most(&self) -> u64 {
        let there = || self.members.values().filter(|state| state.is_there());
        let loops: u64 = there().map(|state| u64::from(state.loops)).sum();
        there().map(|state| state.connections * loops / u64::from(state.loops)).min().unwrap_or(0)
    }

    /// Lost workers that held connections.
    pub(super) fn lost_holders(&self) -> Vec<LostMember> {
        let lost = self.holders.iter().filter_map(|number| {
            let state = self.members.get(number).filter(|state| !state.is_there())?;
            let why = state.gone_reason.as_deref().or(state.leaving.as_deref()).unwrap_or("it is gone");
            let why = self.why_lost(*number, why.to_owned());
            let place = state.place.clone();
            Some(LostMember { member: *number, place, at: Nanos::ZERO, unaccounted: 0, why })
        });
        lost.collect()
    }

    /// Waits until all have reported their connections; false if one was lost meanwhile.
    fn await_held(&mut self, held: &mut HeldConnections, interrupted: &dyn Fn() -> bool) -> bool {
        let (mut awaited, mut enough, mut whole) = (self.holders.clone(), false, true);
        while !awaited.is_empty() {
            let event = self.link.next(STOP_POLL);
            if let Some((number, MemberEvent::Reported(MemberReport::Held { open, refused }))) = &event {
                awaited.retain(|member| member != number);
                held.open += open;
                if let (None, Some(why)) = (&held.refused, refused) {
                    held.refused = Some(why.clone());
                    held.refused_by = Some((*number, self.place(*number).to_owned()));
                }
            }
            self.handle_news(event);
            let before = awaited.len();
            awaited.retain(|member| {
                let state = &self.members[member];
                state.is_ready()
                    && state.cut.as_ref().is_none_or(|(since, _)| since.elapsed() < RECONNECT_LIMIT)
            });
            whole &= awaited.len() == before;
            if !enough && interrupted() {
                enough = true;
                self.send_all(|| Instruction::HoldNoMore);
            }
        }
        whole
    }
}

impl ConnectionHolder for Fleet {
    fn min_connections(&self) -> u32 {
        self.present_loops().values().sum()
    }

    /// Each holds as many as its loops' share. If a worker is lost, the present ones start over.
    fn hold(&mut self, connections: u32, interrupted: &dyn Fn() -> bool) -> HeldConnections {
        let mut held = HeldConnections::default();
        for _ in 0..STARTS_MOST {
            self.await_reconnects();
            if std::mem::take(&mut self.has_joined) {
                self.redistribute_shares();
            }
            self.restart_lost();
            let loops = LoopAssignment::deal(self.present_loops());
            self.holders = loops.members().collect();
            let (each, more) = (connections / loops.total().max(1), connections % loops.total().max(1));
            for member in loops.members() {
                let share = loops.of(member).iter().map(|index| each + u32::from(*index < more)).sum();
                self.link.send(member, Instruction::Hold { connections: share });
            }
            held = HeldConnections::default();
            if self.await_held(&mut held, interrupted) || interrupted() {
                break;
            }
        }
        held
    }

    fn release(&mut self) {
        self.holders.clear();
        self.send_all(|| Instruction::Release);
    }
}
