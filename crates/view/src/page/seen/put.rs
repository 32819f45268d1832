//! How values of a window become cells.

use crate::page::rows::{Cells, Rows};
use record::watch::{Jvm, Network, Own};

/// Where values go.
pub(super) struct Put<'a> {
    pub rows: &'a mut Rows,
    pub cells: Cells,
    /// How long the window is.
    pub seconds: f64,
}

impl Put<'_> {
    pub fn one(&mut self, id: &str, value: f64) -> usize {
        let column = self.rows.column(id, false, None);
        self.cells.push((column, value as f32));
        column
    }

    /// A part of a stack: zero where the whole was seen and it was not.
    pub fn part(&mut self, id: &str, whole: usize, value: f64) {
        let column = self.rows.column(id, true, Some(whole));
        self.cells.push((column, value as f32));
    }

    /// A count a second.
    pub fn rate(&mut self, id: &str, count: u64) {
        self.one(id, count as f64 / self.seconds);
    }

    /// A time as a share of the window, or as an average number.
    pub fn share(&mut self, id: &str, ns: u64) {
        self.one(id, ns as f64 / 1e9 / self.seconds);
    }

    pub fn jvm(&mut self, place: usize, jvm: &Jvm) {
        self.one(&format!("heap.{place}"), jvm.heap_used_bytes as f64);
        self.share(&format!("gc.{place}"), jvm.pause_ns);
        self.share(&format!("safepoint.{place}"), jvm.safepoint_ns);
        self.rate(&format!("compiles.{place}"), jvm.compiles);
    }

    pub fn network(&mut self, network: &Network) {
        self.rate("net.overflows", network.listen_overflows);
        self.rate("net.drops", network.listen_drops);
        self.rate("net.retransmitted", network.segments_retransmitted);
        self.one("net.time_wait", network.time_wait as f64);
    }

    pub fn own(&mut self, own: &Own) {
        // Nothing at all was read then.
        if own.cpu_ns > 0 {
            self.share("own.all", own.cpu_ns);
            self.share("own.loops", own.loops_cpu_ns);
            self.share("own.watch", own.watch_cpu_ns);
            self.share("own.waiting", own.loops_run_delay_ns);
        }
    }
}
