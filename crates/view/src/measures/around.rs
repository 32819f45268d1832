//! What is around the programs under load: their database, the machine, its network, torment itself.

use super::target::largest;
use super::{Samples, families as family};
use record::watch::{Host, Network, Own, Postgres, Window};

/// Kinds of sessions of a database; what is more is summed.
const SESSIONS: usize = 24;
/// Between the three words that tell sessions apart; in none of them.
const BETWEEN: char = '\u{1f}';

/// Counters since the run began, and how it was last seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Around {
    database: Option<Postgres>,
    host: Option<Host>,
    network: Option<Network>,
    own: Option<Own>,
}

impl Around {
    /// What was seen within a second: what is there is as it was last seen, what grows is summed.
    pub fn see(&mut self, window: &Window) {
        self.database = summed(self.database.take(), window.postgres.clone(), |now, before| {
            now.commits += before.commits;
            now.rollbacks += before.rollbacks;
            now.blocks_read += before.blocks_read;
            now.wal_bytes = match (now.wal_bytes, before.wal_bytes) {
                (None, None) => None,
                (now, before) => Some(now.unwrap_or(0) + before.unwrap_or(0)),
            };
        });
        self.host = summed(self.host.take(), window.host.clone(), |now, before| {
            now.user_ns += before.user_ns;
            now.system_ns += before.system_ns;
            now.idle_ns += before.idle_ns;
            now.iowait_ns += before.iowait_ns;
            now.steal_ns += before.steal_ns;
            now.neighbours_cpu_ns += before.neighbours_cpu_ns;
        });
        self.network = summed(self.network.take(), window.network, |now, before| {
            now.listen_overflows += before.listen_overflows;
            now.listen_drops += before.listen_drops;
            now.segments_retransmitted += before.segments_retransmitted;
        });
        self.own = summed(self.own.take(), Some(window.own), |now, before| {
            now.cpu_ns += before.cpu_ns;
            now.loops_cpu_ns += before.loops_cpu_ns;
            now.loops_run_delay_ns += before.loops_run_delay_ns;
            now.watch_cpu_ns += before.watch_cpu_ns;
        });
    }

    pub fn tell(&self, samples: &mut Samples) {
        if let Some(database) = &self.database {
            tell_database(database, samples);
        }
        if let Some(host) = &self.host {
            for (mode, ns) in [
                ("user", host.user_ns),
                ("system", host.system_ns),
                ("idle", host.idle_ns),
                ("iowait", host.iowait_ns),
                ("steal", host.steal_ns),
            ] {
                samples.seconds(&family::HOST_CPU, &[mode], ns);
            }
            samples.seconds(&family::NEIGHBOURS, &[], host.neighbours_cpu_ns);
            samples.count(&family::HOST_MEMORY, &[], host.memory_available_bytes);
        }
        if let Some(network) = &self.network {
            for (event, count) in [
                ("listen_overflow", network.listen_overflows),
                ("listen_drop", network.listen_drops),
                ("retransmitted", network.segments_retransmitted),
            ] {
                samples.count(&family::NETWORK, &[event], count);
            }
        }
        // Nothing at all was read otherwise.
        if let Some(own) = self.own.filter(|own| own.cpu_ns > 0) {
            let rest = own.cpu_ns.saturating_sub(own.loops_cpu_ns + own.watch_cpu_ns);
            for (part, ns) in [("loops", own.loops_cpu_ns), ("watch", own.watch_cpu_ns), ("rest", rest)] {
                samples.seconds(&family::OWN_CPU, &[part], ns);
            }
            samples.seconds(&family::OWN_DELAY, &[], own.loops_run_delay_ns);
        }
    }
}

/// What is seen now with what had grown before it; what is not seen now stays as it was.
fn summed<T>(before: Option<T>, now: Option<T>, add: impl Fn(&mut T, &T)) -> Option<T> {
    match (before, now) {
        (Some(before), Some(mut now)) => {
            add(&mut now, &before);
            Some(now)
        }
        (before, now) => now.or(before),
    }
}

fn tell_database(database: &Postgres, samples: &mut Samples) {
    // What an idle session waits for says nothing: for its client.
    let kinds = database.sessions.iter().map(|sessions| {
        let wait = |word: &Option<String>| match word {
            Some(word) if !sessions.state.starts_with("idle") => word.clone(),
            _ => String::new(),
        };
        let words = [sessions.state.clone(), wait(&sessions.wait_type), wait(&sessions.wait_event)];
        (words.join(&BETWEEN.to_string()), sessions.count)
    });
    for (words, count) in largest(kinds, SESSIONS) {
        let mut words = words.split(BETWEEN);
        let labels = [(); 3].map(|()| words.next().unwrap_or_default());
        samples.number(&family::SESSIONS, &labels, count);
    }
    samples.count(&family::DATABASE_CONNECTIONS, &[], u64::from(database.connections));
    samples.count(&family::TRANSACTIONS, &["commit"], database.commits);
    samples.count(&family::TRANSACTIONS, &["rollback"], database.rollbacks);
    samples.count(&family::BLOCKS, &[], database.blocks_read);
    if let Some(bytes) = database.wal_bytes {
        samples.count(&family::WAL, &[], bytes);
    }
}
