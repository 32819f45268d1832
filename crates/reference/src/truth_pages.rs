//! The pages whose correct measurement is known.

use std::time::{Duration, Instant};

use units::Nanos;

use crate::ServiceState;
use crate::answer::{Answer, Body, Framing};
use crate::request_parser::Request;
use crate::route::{Parameters, Route};
use crate::virtual_servers::{Admission, ServerKey, after_freeze};

/// Ten minutes: longer than any client waits.
const TIME_LIMIT_US: f64 = 600e6;
const TIME_LIMIT_MS: f64 = TIME_LIMIT_US / 1e3;
/// Maximum servers, or waiting places.
const COUNT_LIMIT: usize = 100_000;
/// 16 GiB; bodies are generated while they are sent.
const BYTES_LIMIT: u64 = 16 << 30;

impl ServiceState {
    /// Answers a truth page, or says what is wrong with its parameters.
    pub(crate) fn truth_page(
        &self,
        route: Route,
        request: &Request<'_>,
        arrival: Instant,
    ) -> Result<Answer, String> {
        let p = Parameters(request.query);
        let done = |due| Answer::text(200, "done\n").not_before(self.instant_of(due));
        match route {
            Route::Delay => {
                let service = milliseconds(p, 10.0)?;
                Ok(done(self.servers().delay(self.since_start(arrival), service)))
            }
            Route::Queue => self.admit(ServerKey::Queue { service: microseconds(p)? }, arrival),
            Route::Pool => {
                let size = p.number("size", 10, 1, COUNT_LIMIT)?;
                self.admit(ServerKey::Pool { size, service: milliseconds(p, 20.0)? }, arrival)
            }
            Route::Shed => {
                let limit = p.number("limit", 100, 0, COUNT_LIMIT)?;
                self.admit(ServerKey::Shed { service: microseconds(p)?, limit }, arrival)
            }
            Route::Warm => {
                let factor: f64 = p.number("factor", 10.0, 1.0, 1e6)?;
                let requests = p.number("n", 10_000, 1, 1_000_000_000)?;
                let key =
                    ServerKey::Warm { service: microseconds(p)?, factor_bits: factor.to_bits(), requests };
                self.admit(key, arrival)
            }
            Route::Stall => {
                let every = p.duration("every", Nanos::from_secs(10))?;
                let frozen = p.duration("for", Nanos::from_secs(1))?;
                if every == Nanos::ZERO || frozen > every {
                    return Err(format!("for is {frozen} and every is {every}; for must be the shorter"));
                }
                Ok(done(after_freeze(self.since_start(arrival), every, frozen)))
            }
            Route::Json => {
                let service = milliseconds(p, 0.0)?;
                let due = arrival + Duration::from_nanos(service.0);
                Ok(Answer::json("{\"message\":\"Hello, World!\"}\n").not_before(due))
            }
            Route::Status => status_page(request.path),
            Route::Bytes => {
                let n = p.number("n", 1_024, 0, BYTES_LIMIT)?;
                let framing = match (p.switch("chunked")?, p.switch("close")?) {
                    (false, false) => Framing::Length,
                    (true, false) => Framing::Chunked,
                    (false, true) => Framing::Close,
                    (true, true) => return Err("chunked and close exclude each other".to_owned()),
                };
                Ok(Answer::bytes(Body::Filler(n), framing))
            }
            Route::Continue => {
                let mut answer = Answer::text(200, "done\n");
                answer.interim = true;
                Ok(answer)
            }
            Route::Echo => Ok(Answer::bytes(Body::Raw(request.body.to_vec()), Framing::Length)),
            Route::Healthz => Ok(Answer::text(200, "ok\n")),
            Route::Truth => {
                let reset = p.switch("reset")?;
                Ok(Answer::json(format!("{:#}\n", self.log.json(self.model, reset))))
            }
            _ => Ok(Answer::text(404, "There is no such page.\n")),
        }
    }

    fn admit(&self, key: ServerKey, arrival: Instant) -> Result<Answer, String> {
        match self.servers().admit(key, self.since_start(arrival)) {
            Admission::Due(due) => Ok(Answer::text(200, "done\n").not_before(self.instant_of(due))),
            Admission::Shed => Ok(Answer::text(503, "too many requests wait\n").header("retry-after", "1")),
            Admission::TooManyServers => {
                Err("too many different servers were asked for; restart the service".to_owned())
            }
        }
    }
}

fn milliseconds(p: Parameters<'_>, default: f64) -> Result<Nanos, String> {
    Ok(Nanos((p.number("ms", default, 0.0, TIME_LIMIT_MS)? * 1e6).round() as u64))
}

fn microseconds(p: Parameters<'_>) -> Result<Nanos, String> {
    Ok(Nanos((p.number("us", 500.0, 0.001, TIME_LIMIT_US)? * 1e3).round() as u64))
}

fn status_page(path: &str) -> Result<Answer, String> {
    let code = path.trim_start_matches("/status/");
    // 1xx are not final: after one, a client would wait for ever.
    let Some(status) = code.parse().ok().filter(|status| (200..=599).contains(status)) else {
        return Err(format!("the status is '{code}'; it must be a number from 200 to 599"));
    };
    let answer = Answer::text(status, format!("status {status}\n"));
    Ok(if (300..400).contains(&status) && status != 304 { answer.header("location", "/") } else { answer })
}
