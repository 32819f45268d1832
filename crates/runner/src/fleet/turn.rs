//! What all are there for: they come, turn to the loads of one plan after the other, and rest between them.

use super::hand::Hand;
use super::ssh::Arriving;
use super::{Fleet, FleetAsked, pods};
use crate::build::{VERSION, stamp};
use crate::conductor::Ready;
use crate::{Error, Stop, preflight};
use engine::{Carrier, Endpoint};
use fleet::{FleetRole, Instruction};
use link::Post;
use plan::{Plan, Target};
use record::FleetMember;
use std::collections::{BTreeMap, BTreeSet};

impl Fleet {
    /// Nobody has come yet.
    pub fn of(asked: &FleetAsked, plan: &Plan, stop: &Stop) -> Result<Self, Error> {
        let post = Post::open(VERSION, stamp(), FleetRole::Worker, &plan.generator.cores)
            .map_err(|why| Error::Fleet(why.to_string()))?;
        Ok(Self {
            post,
            plan: plan.clone(),
            authorities: None,
            job: None,
            hands: (0..asked.workers()).map(|number| (number, Hand::default())).collect(),
            workforce: None,
            asked: asked.clone(),
            starts: BTreeMap::new(),
            arriving: Arriving::new(),
            caveats: Vec::new(),
            doubted: Vec::new(),
            refusal: None,
            stop: stop.clone(),
            cost: None,
            most: asked.most(),
            are_more: false,
            told: Vec::new(),
            is_open: false,
            holders: Vec::new(),
            share: 0,
            first: None,
            trial: 0,
            called_off: BTreeSet::new(),
            next_number: 0,
        })
    }

    /// Has them come before anything is there that could be loaded: who does not come is known by then. Gives who they are.
    ///
    /// Fails as [`Fleet::turn_to`], or if they would not reach the target of this plan.
    pub fn come(&mut self, plan: &Plan) -> Result<Vec<FleetMember>, Error> {
        let nowhere = Plan { target: Target::Null, ..plan.clone() };
        let members = self.turn_to(&nowhere, &Target::Null)?.carrier.stands();
        self.rest();
        match &plan.target {
            Target::Demo | Target::Null => {}
            target => {
                let at_home = Endpoint::of(target).ok().and_then(|endpoint| self.finds_itself(&endpoint));
                at_home.map_or(Ok(()), |why| Err(Error::Fleet(why)))?;
            }
        }
        Ok(members.unwrap_or_default())
    }

    /// Has the workers make the loads of this plan from now on. Those that are there are told; the others are started, or let in, and
    /// waited for until each could begin.
    ///
    /// Fails with what the first of them cannot do.
    pub fn turn_to(&mut self, plan: &Plan, target: &Target) -> Result<Ready<&mut Self>, Error> {
        let is_here = self.asked.is_here();
        let job = match preflight::job(plan, target) {
            // It need not be known here.
            Err(Error::Engine(engine::Error::Resolve { .. })) if !is_here => None,
            job => Some(job?),
        };
        if let Some(job) = job.as_ref().filter(|_| is_here && *target != Target::Null) {
            // What this machine can reach, they can.
            preflight::first_answer(job)?;
        }
        let endpoint = job.as_ref().map_or_else(Endpoint::null, |job| job.endpoint.clone());
        self.authorities = engine::authorities(target)?;
        self.plan = Plan { target: target.clone(), ..plan.clone() };
        self.job = job;
        (self.cost, self.refusal, self.next_number) = (None, None, 0);
        (self.caveats, self.told) = (Vec::new(), Vec::new());
        self.await_cut();
        if let Some(why) = self.job.as_ref().and_then(|job| self.finds_itself(&job.endpoint)) {
            return Err(Error::Fleet(why));
        }
        let there = self.hands.iter().find(|(_, hand)| hand.is_in_touch());
        self.first = Some(there.map_or(0, |(number, _)| *number));
        self.share_anew();
        self.open(target)?;
        let stop = self.stop.clone();
        self.start_missing(&|| stop.asked())?;
        // Who was interrupted waits for nobody: the run ends as one that was, with whoever is there.
        if !stop.asked() {
            self.is_complete()?;
        }
        let mut caveats = std::mem::take(&mut self.caveats);
        if is_here {
            // What one of them lacks on a machine that all share, each lacks.
            caveats.truncate(1);
        }
        self.doubted.clone_from(&caveats);
        let connections = self.connections_most().min(plan.generator.connections.into());
        Ok(Ready { carrier: self, endpoint, connections, caveats })
    }

    /// Nothing of the plan is to be sent any more: all connections are closed.
    pub fn rest(&mut self) {
        self.holders.clear();
        for (number, hand) in self.hands.iter_mut().filter(|(_, hand)| hand.is_in_touch()) {
            self.post.send(*number, Instruction::Rest);
            (hand.loops, hand.shares) = (0, true);
        }
    }

    /// Lets in who comes, and has the pods made, if it is them; once.
    fn open(&mut self, target: &Target) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_open, true) {
            return Ok(());
        }
        if let Some(entrance) = self.asked.entrance() {
            entrance.lead_to(&self.post)?;
        }
        let at_home = self.job.as_ref().map(|job| &job.endpoint).filter(|endpoint| endpoint.is_local());
        let at_home = at_home.filter(|_| *target != Target::Null).map(Endpoint::describe);
        self.workforce = pods::raised(&self.asked, target, at_home)?;
        Ok(())
    }
}
