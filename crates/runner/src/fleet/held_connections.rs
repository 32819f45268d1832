//! Connections held open by the workers together, each with ports of its own.

use super::membership::{CUT_LIMIT, STARTS};
use super::{ASK, Fleet};
use engine::{ConnectionHolder, HeldConnections};
use fleet::{Instruction, LoopAssignment, MemberReport};
use link::MemberEvent;
use record::LostMember;
use units::Nanos;

impl Fleet {
    /// The most connections of all: every loop has equally many, so the worker that can open fewest limits them.
    pub(super) fn connections_most(&self) -> u64 {
        let there = || self.hands.values().filter(|hand| hand.is_there());
        let loops: u64 = there().map(|hand| u64::from(hand.loops)).sum();
        there().map(|hand| hand.connections * loops / u64::from(hand.loops)).min().unwrap_or(0)
    }

    /// Lost workers that held connections.
    pub(super) fn lost_holders(&self) -> Vec<LostMember> {
        let lost = self.holders.iter().filter_map(|number| {
            let hand = self.hands.get(number).filter(|hand| !hand.is_there())?;
            let why = hand.gone.clone().or(hand.leaves.clone()).unwrap_or_else(|| "it is gone".to_owned());
            let why = self.why_lost(*number, why);
            let place = hand.place.clone();
            Some(LostMember { member: *number, place, at: Nanos::ZERO, unaccounted: 0, why })
        });
        lost.collect()
    }

    /// Waits until all have reported their connections; false if one was lost meanwhile.
    fn held(&mut self, held: &mut HeldConnections, interrupted: &dyn Fn() -> bool) -> bool {
        let (mut awaited, mut enough, mut whole) = (self.holders.clone(), false, true);
        while !awaited.is_empty() {
            let news = self.post.next(ASK);
            if let Some((number, MemberEvent::Told(MemberReport::Held { open, refused }))) = &news {
                awaited.retain(|member| member != number);
                held.open += open;
                if let (None, Some(why)) = (&held.refused, refused) {
                    let place = self.hands.get(number).map_or(String::new(), |hand| hand.place.clone());
                    (held.refused, held.by) = (Some(why.clone()), Some((*number, place)));
                }
            }
            self.handle_news(news);
            let before = awaited.len();
            awaited.retain(|member| {
                let hand = &self.hands[member];
                hand.is_ready() && hand.cut.as_ref().is_none_or(|(since, _)| since.elapsed() < CUT_LIMIT)
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
        self.there().values().sum()
    }

    /// Each holds as many as its loops' share. If a worker is lost, the present ones start over.
    fn hold(&mut self, connections: u32, interrupted: &dyn Fn() -> bool) -> HeldConnections {
        let mut held = HeldConnections::default();
        for _ in 0..STARTS {
            self.await_reconnects();
            if std::mem::take(&mut self.are_more) {
                self.redistribute_shares();
            }
            self.restart_lost();
            let loops = LoopAssignment::dealt(self.there());
            self.holders = loops.members().collect();
            let (each, more) = (connections / loops.total().max(1), connections % loops.total().max(1));
            for member in loops.members() {
                let share = loops.of(member).iter().map(|index| each + u32::from(*index < more)).sum();
                self.post.send(member, Instruction::Hold { connections: share });
            }
            held = HeldConnections::default();
            if self.held(&mut held, interrupted) || interrupted() {
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
