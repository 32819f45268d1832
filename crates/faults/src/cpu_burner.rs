//! Somebody else on the machine who uses processors: this very program, on one processor.

use crate::CaseError;
use crate::client;
use crate::target_process::start_target;
use runner::ServiceProcess;
use rustix::process::{Pid, setpriority_process};
use std::net::TcpStream;

/// Threads that want the processor at the same time.
const THREADS: usize = 8;
/// Each burns for the longest that is allowed; eight of them on one processor last beyond any cell.
const PAGE: &str = "/fault/cpu?us=10000000";

pub(crate) struct CpuBurner {
    service: ServiceProcess,
    /// Nobody reads the answers.
    asked: Vec<TcpStream>,
}

impl CpuBurner {
    /// It waits until it is told to begin. `heavy` gives it more weight than the load's loops take for themselves.
    pub(crate) fn start(core: u32, heavy: bool) -> Result<Self, CaseError> {
        let core = core.to_string();
        let service = start_target(&["--model", "threads", "--cores", &core], |pid| {
            // Its threads begin as it is when they do.
            let process = Pid::from_raw(pid as i32).filter(|_| heavy);
            process.map_or(Ok(()), |process| {
                setpriority_process(Some(process), -20).map_err(|why| {
                    CaseError::Skip(format!("no process may be preferred here: {why}; root may"))
                })
            })
        })?;
        Ok(Self { service, asked: Vec::new() })
    }

    pub(crate) fn begin(&mut self) {
        while self.asked.len() < THREADS {
            let Ok(stream) = client::send(self.service.address, PAGE) else { return };
            self.asked.push(stream);
        }
    }
}
