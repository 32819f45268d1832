//! A neighbour that uses processor time: this very program, on one processor.

use crate::CaseError;
use crate::client;
use crate::target_process::start_target;
use runner::ServiceProcess;
use rustix::process::{Pid, setpriority_process};
use std::net::TcpStream;

/// Threads that compete for the processor.
const THREADS: usize = 8;
/// Each burns for the longest time allowed; eight of them on one processor outlast any case.
const PAGE: &str = "/fault/cpu?us=10000000";

pub(crate) struct CpuBurner {
    service: ServiceProcess,
    /// Nobody reads the answers.
    requests: Vec<TcpStream>,
}

impl CpuBurner {
    /// Starts it idle. `heavy` gives it more weight than the load's loops give themselves.
    pub(crate) fn start(core: u32, heavy: bool) -> Result<Self, CaseError> {
        let core = core.to_string();
        let service = start_target(&["--model", "threads", "--cores", &core], |pid| {
            // Its threads inherit the weight when they start.
            let process = Pid::from_raw(pid as i32).filter(|_| heavy);
            process.map_or(Ok(()), |process| {
                setpriority_process(Some(process), -20).map_err(|why| {
                    CaseError::Skip(format!("no process may be preferred here: {why}; root may"))
                })
            })
        })?;
        Ok(Self { service, requests: Vec::new() })
    }

    pub(crate) fn begin(&mut self) {
        while self.requests.len() < THREADS {
            let Ok(stream) = client::send(self.service.address, PAGE) else { return };
            self.requests.push(stream);
        }
    }
}
