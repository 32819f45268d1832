//! What the streams to all members have in common, and who is at the other end of each.

use crate::door::{Shown, may_be};
use crate::member::End;
use crate::pulse::Pulse;
use fleet::{BuildStamp, FleetRole, Hello, Jumped, PROTOCOL, Tidings};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;

/// So many of those who were turned away are remembered.
const TURNED_AWAY: usize = 16;

/// What is heard of a member.
#[derive(Debug, PartialEq)]
pub enum News {
    /// It is there.
    Joined(Hello),
    /// It tells something.
    Told(Tidings),
    /// Its clock did what no clock does.
    Jumped(Jumped),
    /// It is there no longer, or was not let in: why. Nothing more comes of it.
    Gone(String),
}

/// What the streams have in common.
#[derive(Debug)]
pub(crate) struct Office {
    build: String,
    stamp: BuildStamp,
    /// What members are: whoever is something else has come to the wrong door.
    role: FleetRole,
    ends: Mutex<BTreeMap<u32, Arc<End>>>,
    news: Sender<(u32, News)>,
    /// When news was last asked for.
    pub conducted: Pulse,
    /// Who was not let in before it had a number, and why.
    turned_away: Mutex<VecDeque<String>>,
    /// Whatever still goes on holds this; with the last of it all have parted.
    _open: oneshot::Sender<()>,
}

impl Office {
    /// For members of this version and build, and in this role. What is heard of them goes to `news`.
    pub fn new(
        build: &str,
        stamp: &BuildStamp,
        role: FleetRole,
        news: Sender<(u32, News)>,
        _open: oneshot::Sender<()>,
    ) -> Self {
        let (build, stamp, conducted) = (build.to_owned(), stamp.clone(), Pulse::new());
        Self {
            build,
            stamp,
            role,
            ends: Mutex::default(),
            news,
            conducted,
            turned_away: Mutex::default(),
            _open,
        }
    }

    pub fn ends(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<End>>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn end(&self, member: u32) -> Option<Arc<End>> {
        self.ends().get(&member).cloned()
    }

    /// Whether this is still the stream of that member.
    fn is_present(&self, member: u32, end: &Arc<End>) -> bool {
        self.ends().get(&member).is_some_and(|present| Arc::ptr_eq(present, end))
    }

    /// From now on this is the stream of a member: of the one that it wants to be, or of the first that there is not.
    pub fn seat(&self, wanted: Option<u32>, end: &Arc<End>) -> u32 {
        let mut ends = self.ends();
        let free = || (0..).find(|member| !ends.contains_key(member)).unwrap_or(u32::MAX);
        let member = wanted.unwrap_or_else(free);
        if let Some(before) = ends.insert(member, Arc::clone(end)) {
            before.cut();
        }
        member
    }

    fn turned_away(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.turned_away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who was not let in since this was last asked, and why; the latest of them.
    pub fn take_turned_away(&self) -> Vec<String> {
        self.turned_away().drain(..).collect()
    }

    pub fn turn_away(&self, from: &str, why: &str) {
        let mut turned_away = self.turned_away();
        if turned_away.len() == TURNED_AWAY {
            turned_away.pop_front();
        }
        turned_away.push_back(format!("{from}: {why}"));
    }
}

/// Who is, or wants to be, a member: one stream.
pub(crate) struct Guest {
    /// Its number, once it has one.
    pub number: OnceLock<u32>,
    pub end: Arc<End>,
    pub office: Arc<Office>,
    /// If it came over the network: from where, and with which certificate.
    pub stranger: Option<(String, Shown)>,
}

impl Guest {
    /// Tells of it, if it is still who it is.
    pub async fn tell(&self, news: News) {
        let Some(&member) = self.number.get() else { return };
        if self.office.is_present(member, &self.end) {
            let _ = self.office.news.send((member, news)).await;
        }
    }

    pub async fn is_gone(&self, why: String) {
        self.end.close();
        match (self.number.get(), &self.stranger) {
            (Some(member), _) if self.office.is_present(*member, &self.end) => {
                self.office.ends().remove(member);
                let _ = self.office.news.send((*member, News::Gone(why))).await;
            }
            (None, Some((from, _))) => self.office.turn_away(from, &why),
            _ => {}
        }
    }

    /// Whether it may come in; else why not, and what would help.
    pub fn is_let_in(&self, hello: &Hello) -> Result<(), String> {
        let Hello { protocol, build, stamp, role, .. } = hello;
        let Office { build: ours, stamp: our_stamp, .. } = &*self.office;
        if *protocol != PROTOCOL || build != ours {
            return Err(format!(
                "it is torment {build}, and the fleet is of {ours}: all must be the same build"
            ));
        }
        if stamp.is_another(our_stamp) {
            return Err(format!(
                "it is another torment {build} ({stamp}) than the coordinator's ({our_stamp}): start the same file everywhere"
            ));
        }
        match &self.stranger {
            Some((_, shown)) if !may_be(shown, *role) => {
                Err(format!("its join file does not let in a {}", role.name()))
            }
            _ if *role != self.office.role => Err(format!(
                "it is a {}, and only a {} can come in here",
                role.name(),
                self.office.role.name()
            )),
            _ => Ok(()),
        }
    }
}
