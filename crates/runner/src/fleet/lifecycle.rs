//! The fleet's life: workers join, make the loads of one plan after another, and rest in between.

use super::member_state::MemberState;
use super::ssh::PendingConnections;
use super::{Fleet, FleetConfig, pods};
use crate::build::{VERSION, build_stamp};
use crate::trial_runner::ReadyGenerator;
use crate::{Error, StopFlag, preflight};
use engine::{LoadGenerator, ResolvedTarget};
use fleet::{FleetRole, Instruction};
use link::CoordinatorLink;
use plan::{Plan, Target};
use record::FleetMember;
use std::collections::{BTreeMap, BTreeSet};

impl Fleet {
    /// Without any workers yet.
    pub fn new(config: &FleetConfig, plan: &Plan, stop: &StopFlag) -> Result<Self, Error> {
        let link = CoordinatorLink::open(VERSION, build_stamp(), FleetRole::Worker, &plan.generator.cores)?;
        Ok(Self {
            link,
            plan: plan.clone(),
            authorities: None,
            engine_config: None,
            members: (0..config.workers()).map(|number| (number, MemberState::default())).collect(),
            pods: None,
            config: config.clone(),
            failed_starts: BTreeMap::new(),
            connecting: PendingConnections::new(),
            caveats: Vec::new(),
            reported_caveats: Vec::new(),
            refusal: None,
            stop: stop.clone(),
            cost: None,
            max_workers: config.most(),
            has_joined: false,
            sent_members: Vec::new(),
            is_admitting: false,
            holders: Vec::new(),
            share: 0,
            checking_worker: None,
            trial: 0,
            cancelled: BTreeSet::new(),
            next_number: 0,
        })
    }

    /// Gathers the workers before anything is started that could be loaded, so that missing ones are known early.
    /// Returns them.
    ///
    /// Fails as [`Fleet::assign`], or if they would not reach the target of this plan.
    pub fn assemble(&mut self, plan: &Plan) -> Result<Vec<FleetMember>, Error> {
        let nowhere = Plan { target: Target::Null, ..plan.clone() };
        let members = self.assign(&nowhere, &Target::Null)?.generator.changed_members();
        self.release_plan();
        if !matches!(plan.target, Target::Demo | Target::Null)
            && let Ok(endpoint) = ResolvedTarget::resolve(&plan.target)
            && let Some(why) = self.own_address_problem(&endpoint)
        {
            return Err(Error::Fleet(why));
        }
        Ok(members.unwrap_or_default())
    }

    /// Makes the workers take on this plan. Those present are told; the others are started, or admitted, and waited for
    /// until each is ready.
    ///
    /// Fails with what the first of them cannot do.
    pub fn assign(&mut self, plan: &Plan, target: &Target) -> Result<ReadyGenerator<&mut Self>, Error> {
        let is_here = self.config.is_here();
        let config = match preflight::engine_config(plan, target) {
            // It need not resolve here.
            Err(Error::Engine(engine::Error::Resolve { .. })) if !is_here => None,
            config => Some(config?),
        };
        if let Some(config) = config.as_ref().filter(|_| is_here && *target != Target::Null) {
            // What this machine reaches, they reach too.
            preflight::check_first_answer(config)?;
        }
        let endpoint = config.as_ref().map_or_else(ResolvedTarget::null, |config| config.endpoint.clone());
        self.authorities = engine::ca_certificates(target)?;
        self.plan = Plan { target: target.clone(), ..plan.clone() };
        self.engine_config = config;
        (self.cost, self.refusal, self.next_number) = (None, None, 0);
        (self.caveats, self.sent_members) = (Vec::new(), Vec::new());
        self.await_reconnects();
        self.check_not_own_address().map_err(Error::Fleet)?;
        let there = self.members.iter().find(|(_, state)| state.is_connected());
        self.checking_worker = Some(there.map_or(0, |(number, _)| *number));
        self.redistribute_shares();
        self.open(target)?;
        self.start_missing()?;
        // After an interrupt nobody is waited for: the run ends as interrupted, with whoever is present.
        if !self.stop.is_requested() {
            self.check_complete()?;
        }
        let mut caveats = std::mem::take(&mut self.caveats);
        if is_here {
            // What one worker lacks on a shared machine, all lack.
            caveats.truncate(1);
        }
        self.reported_caveats.clone_from(&caveats);
        let connections = self.connections_most().min(plan.generator.connections.into());
        Ok(ReadyGenerator { generator: self, endpoint, connections, caveats })
    }

    /// Nothing more of the plan is to be sent: all connections are closed.
    pub fn release_plan(&mut self) {
        self.holders.clear();
        for (number, state) in self.members.iter_mut().filter(|(_, state)| state.is_connected()) {
            self.link.send(*number, Instruction::Rest);
            (state.loops, state.is_preparing) = (0, true);
        }
    }

    /// Admits members, and creates the pods if any; once.
    fn open(&mut self, target: &Target) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_admitting, true) {
            return Ok(());
        }
        if let Some(listener) = self.config.entrance() {
            listener.admit_to(&self.link)?;
        }
        let at_home =
            self.engine_config.as_ref().map(|config| &config.endpoint).filter(|endpoint| endpoint.is_local());
        let at_home = at_home.filter(|_| *target != Target::Null).map(ResolvedTarget::describe);
        self.pods = pods::start_pods(&self.config, target, at_home)?;
        Ok(())
    }
}
