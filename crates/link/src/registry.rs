//! What the streams to all members share, and which member each belongs to.

use crate::credentials::has_role;
use crate::liveness::Liveness;
use crate::member_handle::MemberHandle;
use crate::tls::ClientCertificate;
use fleet::{BuildStamp, ClockJump, FleetRole, Hello, MemberReport, PROTOCOL};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;

/// Rejections remembered.
const REJECTIONS_KEPT: usize = 16;

/// Event of a member.
#[derive(Debug, PartialEq)]
pub enum MemberEvent {
    /// It joined.
    Joined(Hello),
    /// It reports.
    Reported(MemberReport),
    /// Its clock jumped.
    Jumped(ClockJump),
    /// It is gone, or was rejected: why. Its last event.
    Gone(String),
}

/// What the streams share.
#[derive(Debug)]
pub(crate) struct MemberRegistry {
    build: String,
    stamp: BuildStamp,
    /// The members' role; any other is rejected.
    role: FleetRole,
    by_number: Mutex<BTreeMap<u32, Arc<MemberHandle>>>,
    events: Sender<(u32, MemberEvent)>,
    /// When events were last asked for.
    pub conductor_liveness: Liveness,
    /// Peers rejected before they had a number, and why.
    rejections: Mutex<VecDeque<String>>,
    /// Held by everything that still runs; once the last is dropped, all is closed.
    _open: oneshot::Sender<()>,
}

impl MemberRegistry {
    /// For members of this version, build and role. Their events go to `events`.
    pub fn new(
        build: &str,
        stamp: &BuildStamp,
        role: FleetRole,
        events: Sender<(u32, MemberEvent)>,
        _open: oneshot::Sender<()>,
    ) -> Self {
        Self {
            build: build.to_owned(),
            stamp: stamp.clone(),
            role,
            by_number: Mutex::default(),
            events,
            conductor_liveness: Liveness::new(),
            rejections: Mutex::default(),
            _open,
        }
    }

    pub fn handles(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<MemberHandle>>> {
        self.by_number.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn handle(&self, member: u32) -> Option<Arc<MemberHandle>> {
        self.handles().get(&member).cloned()
    }

    /// Whether this is still that member's stream.
    fn is_current(&self, member: u32, end: &Arc<MemberHandle>) -> bool {
        self.handles().get(&member).is_some_and(|present| Arc::ptr_eq(present, end))
    }

    /// Makes this the stream of the wanted member, or of the lowest free number.
    pub fn register(&self, wanted: Option<u32>, end: &Arc<MemberHandle>) -> u32 {
        let mut ends = self.handles();
        let free = || (0..).find(|member| !ends.contains_key(member)).unwrap_or(u32::MAX);
        let member = wanted.unwrap_or_else(free);
        if let Some(before) = ends.insert(member, Arc::clone(end)) {
            before.cut();
        }
        member
    }

    fn rejected(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.rejections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who was rejected since the last call, and why; only the latest are kept.
    pub fn take_rejected(&self) -> Vec<String> {
        self.rejected().drain(..).collect()
    }

    pub fn reject(&self, from: &str, why: &str) {
        let mut turned_away = self.rejected();
        if turned_away.len() == REJECTIONS_KEPT {
            turned_away.pop_front();
        }
        turned_away.push_back(format!("{from}: {why}"));
    }
}

/// A stream of a member, or of a would-be one.
pub(crate) struct MemberConnection {
    /// Its number, once it has one.
    pub number: OnceLock<u32>,
    pub handle: Arc<MemberHandle>,
    pub registry: Arc<MemberRegistry>,
    /// If it came over the network: its address and certificate.
    pub network_peer: Option<(String, ClientCertificate)>,
}

impl MemberConnection {
    /// Passes an event on, if this is still the member's stream.
    pub async fn report(&self, event: MemberEvent) {
        let Some(&member) = self.number.get() else { return };
        if self.registry.is_current(member, &self.handle) {
            let _ = self.registry.events.send((member, event)).await;
        }
    }

    pub async fn mark_gone(&self, why: String) {
        self.handle.close();
        match (self.number.get(), &self.network_peer) {
            (Some(member), _) if self.registry.is_current(*member, &self.handle) => {
                self.registry.handles().remove(member);
                let _ = self.registry.events.send((*member, MemberEvent::Gone(why))).await;
            }
            (None, Some((from, _))) => self.registry.reject(from, &why),
            _ => {}
        }
    }

    /// `Err` says why it may not join, and what would help.
    pub fn check_admission(&self, hello: &Hello) -> Result<(), String> {
        let Hello { protocol, build, stamp, role, .. } = hello;
        let MemberRegistry { build: ours, stamp: own_stamp, .. } = &*self.registry;
        if *protocol != PROTOCOL || build != ours {
            return Err(format!(
                "it is torment {build}, and the fleet is of {ours}: all must be the same build"
            ));
        }
        if stamp.differs_from(own_stamp) {
            return Err(format!(
                "it is another torment {build} ({stamp}) than the coordinator's ({own_stamp}): start the same file everywhere"
            ));
        }
        match &self.network_peer {
            Some((_, certificate)) if !has_role(certificate.as_ref(), *role) => {
                Err(format!("its join file does not let in a {}", role.name()))
            }
            _ if *role != self.registry.role => Err(format!(
                "it is a {}, and only a {} can come in here",
                role.name(),
                self.registry.role.name()
            )),
            _ => Ok(()),
        }
    }
}
