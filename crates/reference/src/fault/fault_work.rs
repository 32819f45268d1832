//! The validated request of a fault page: its path and parameters.

use std::net::SocketAddr;
use std::time::Duration;

use super::burn::{BurnWork, MAX_DEPTH};
use crate::database::DatabaseFault;
use crate::route::Parameters;

/// Maximum time that one request may work or wait: for more, send more requests.
const TIME_LIMIT_US: f64 = 10e6;
/// Maximum that one request may keep or write.
const KIB_LIMIT: usize = 64 << 10;
/// Maximum permits of one pool.
const PERMITS_LIMIT: usize = 10_000;

/// What a fault page does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FaultWork {
    /// Uses a processor for this long.
    Cpu { time: Duration },
    /// The same in two functions.
    Burn(BurnWork),
    /// Takes the service's one lock and sleeps with it.
    Lock { time: Duration },
    /// Takes one of `size` permits and sleeps with it.
    Permit { size: usize, time: Duration },
    /// Calls another service, and waits for it.
    Call { to: SocketAddr, path: String },
    /// Runs something slow in the database.
    Database(DatabaseFault),
    /// Keeps this much memory.
    Memory { bytes: usize },
    /// Frees all of it.
    FreeMemory,
    /// Starts a thread that lives this long.
    Thread { life: Duration },
    /// Keeps a descriptor open.
    Open,
    /// Closes all of them.
    CloseAll,
    /// Appends this much to a file and waits until it is on disk.
    File { bytes: usize },
}

impl FaultWork {
    /// Parses `/burn` or a path below `/fault/`, and its parameters; the error is a sentence.
    pub(crate) fn parse(path: &str, query: &str) -> Result<Self, String> {
        let p = Parameters(query);
        let us = |default: f64| -> Result<Duration, String> {
            let us = p.number("us", default, 0.0, TIME_LIMIT_US)?;
            Ok(Duration::from_secs_f64(us / 1e6))
        };
        let kib = |default| p.number("kib", default, 1, KIB_LIMIT).map(|kib| kib << 10);
        Ok(match path.trim_start_matches("/fault/") {
            "cpu" => Self::Cpu { time: us(1_000.0)? },
            "/burn" => Self::Burn(parse_burn(p, us(1_000.0)?)?),
            "lock" => Self::Lock { time: us(1_000.0)? },
            "permit" => Self::Permit { size: p.number("size", 10, 1, PERMITS_LIMIT)?, time: us(20_000.0)? },
            "call" => Self::Call { to: parse_address(p)?, path: parse_path(p)? },
            "db" => Self::Database(parse_database_fault(p, us)?),
            "memory" if p.switch("reset")? => Self::FreeMemory,
            "memory" => Self::Memory { bytes: kib(256)? },
            "thread" => {
                let ms = p.number("ms", 1_000.0, 0.0, TIME_LIMIT_US / 1e3)?;
                Self::Thread { life: Duration::from_secs_f64(ms / 1e3) }
            }
            "open" if p.switch("reset")? => Self::CloseAll,
            "open" => Self::Open,
            "file" => Self::File { bytes: kib(4)? },
            other => {
                return Err(format!(
                    "there is no fault '{other}'; there are cpu, lock, permit, call, db, memory, thread, open and file"
                ));
            }
        })
    }
}

/// A time in two parts.
fn parse_burn(p: Parameters<'_>, time: Duration) -> Result<BurnWork, String> {
    let part = |name, default| p.number(name, default, 0.0, 1e6);
    let (a, b): (f64, f64) = (part("a", 70.0)?, part("b", 30.0)?);
    if a + b <= 0.0 {
        return Err("a and b are both 0; one of them must be more".to_owned());
    }
    let times = [a, b].map(|part| time.mul_f64(part / (a + b)));
    Ok(BurnWork { times, depth: p.number("deep", 0, 0, MAX_DEPTH)? })
}

/// Only this machine: the service must not be a way to load others.
fn parse_address(p: Parameters<'_>) -> Result<SocketAddr, String> {
    let text = p.text("to").unwrap_or_default();
    text.parse()
        .ok()
        .filter(|address: &SocketAddr| address.ip().is_loopback() && address.port() != 0)
        .ok_or_else(|| {
            format!("to is '{text}'; it must be an address of this machine, such as 127.0.0.1:8081")
        })
}

fn parse_path(p: Parameters<'_>) -> Result<String, String> {
    let path = p.text("path").unwrap_or("/");
    if path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(path.to_owned());
    }
    Err(format!("path is '{path}'; it must begin with / and hold no blanks"))
}

fn parse_database_fault(
    p: Parameters<'_>,
    us: impl Fn(f64) -> Result<Duration, String>,
) -> Result<DatabaseFault, String> {
    Ok(match p.text("do").unwrap_or("sleep") {
        "sleep" => DatabaseFault::Sleep { time: us(20_000.0)? },
        "row" => DatabaseFault::Row { time: us(2_000.0)? },
        "advisory" => DatabaseFault::Advisory { time: us(2_000.0)? },
        "cpu" => DatabaseFault::Cpu { rows: p.number("rows", 10_000, 1, 10_000_000)? },
        "read" => {
            DatabaseFault::Read { pages: p.number("n", 8, 1, 1_000)?, mib: p.number("mib", 256, 16, 400)? }
        }
        "commit" => DatabaseFault::Commit,
        "idle" => DatabaseFault::Idle { time: us(20_000.0)? },
        "connect" => DatabaseFault::Connect { time: us(20_000.0)? },
        other => {
            return Err(format!(
                "do is '{other}'; it must be sleep, row, advisory, cpu, read, commit, idle or connect"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_make_work() {
        let ms = Duration::from_millis;
        for (path, query, work) in [
            ("/fault/cpu", "us=5000", FaultWork::Cpu { time: ms(5) }),
            (
                "/burn",
                "a=30&b=10&deep=5&us=4000",
                FaultWork::Burn(BurnWork { times: [ms(3), ms(1)], depth: 5 }),
            ),
            ("/fault/permit", "size=3&us=1000", FaultWork::Permit { size: 3, time: ms(1) }),
            (
                "/fault/call",
                "to=127.0.0.1:81&path=/delay?ms=100",
                FaultWork::Call { to: ([127, 0, 0, 1], 81).into(), path: "/delay?ms=100".to_owned() },
            ),
            ("/fault/db", "do=row&us=1000", FaultWork::Database(DatabaseFault::Row { time: ms(1) })),
            ("/fault/memory", "kib=1", FaultWork::Memory { bytes: 1_024 }),
            ("/fault/memory", "reset=1", FaultWork::FreeMemory),
            ("/fault/open", "", FaultWork::Open),
        ] {
            assert_eq!(FaultWork::parse(path, query), Ok(work), "{path}?{query}");
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_said() {
        for (path, query, words) in [
            ("/fault/cpu", "us=1e9", "from 0 to 10000000"),
            ("/burn", "a=0&b=0", "both 0"),
            ("/burn", "deep=9999", "from 0 to 2000"),
            ("/fault/call", "to=192.0.2.1:80", "address of this machine"),
            ("/fault/call", "", "address of this machine"),
            ("/fault/call", "to=127.0.0.1:81&path=x", "begin with /"),
            ("/fault/db", "do=drop", "sleep, row"),
            ("/fault/db", "do=read&mib=4000", "from 16 to 400"),
            ("/fault/memory", "kib=0", "from 1 to"),
            ("/fault/other", "", "there is no fault 'other'"),
        ] {
            let message = FaultWork::parse(path, query).expect_err(path);
            assert!(message.contains(words), "{path}?{query}: {message}");
        }
    }
}
