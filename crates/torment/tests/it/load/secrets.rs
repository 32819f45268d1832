//! A secret is sent to the target and to nobody else, whatever goes wrong.

use crate::program::odd_servers::{closing, server, silent, tls};
use crate::program::{RunningProcess, Sandbox};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// With everything that some format escapes.
const SECRET: &str = "S3cr/et&\"Wört 9%+x";
/// The secret in base64.
const CODED: &str = "UzNjci9ldCYiV8O2cnQgOSUreA==";
/// Parts of its base64 at each of the three alignments.
const PARTS: [&str; 3] = ["9ldCYiV8O2cn", "IvZXQmIlfDtn", "NyL2V0JiJXw7"];

/// Answers every request with this status and echoes the whole request, as an error page might: head and body.
fn echo(status: &'static str) -> SocketAddr {
    server(move |mut stream| {
        let mut request = vec![0; 16 << 10];
        while let Ok(count @ 1..) = stream.read(&mut request) {
            let said = String::from_utf8_lossy(&request[..count]).replace("\r\n", " | ");
            let json = serde_json::to_string(&said).expect("text");
            let body = format!("{said}\n{json}\n{CODED}");
            let path = said.split(' ').nth(1).unwrap_or_default();
            let head =
                format!("HTTP/1.1 {status}\r\nX-Path: {path}\r\nContent-Length: {}\r\n\r\n", body.len());
            if stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).is_err() {
                return;
            }
        }
    })
}

/// A PostgreSQL server that asks for the password in clear text, and repeats it in its rejection, as some poolers do.
fn telling_postgres() -> SocketAddr {
    server(|mut stream| {
        let mut said = vec![0; 4096];
        let _ = stream.read(&mut said);
        // AuthenticationCleartextPassword
        let _ = stream.write_all(b"R\0\0\0\x08\0\0\0\x03");
        let count = stream.read(&mut said).unwrap_or(0);
        let password = String::from_utf8_lossy(&said[5.min(count)..count]).trim_end_matches('\0').to_owned();
        let fields = format!("SFATAL\0VFATAL\0C28P01\0Mno such password: \"{password}\"\0\0");
        let _ = stream.write_all(b"E");
        let _ = stream.write_all(&(fields.len() as u32 + 4).to_be_bytes());
        let _ = stream.write_all(fields.as_bytes());
    })
}

/// The forms in which a secret may appear: its pieces between escaped characters, and the base64 of all of it.
fn traces() -> Vec<Vec<u8>> {
    ["S3cr/et", "S3cr%2Fet", r"S3cr\/et", "t 9%+x", "rt%209%", "rt+9%25"]
        .into_iter()
        .chain(PARTS)
        .map(|part| part.as_bytes().to_vec())
        .collect()
}

fn holds(bytes: &[u8]) -> Option<String> {
    let traces = traces();
    let trace = traces.iter().find(|trace| bytes.windows(trace.len()).any(|part| part == &trace[..]))?;
    let at = bytes.windows(trace.len()).position(|part| part == &trace[..])?;
    Some(String::from_utf8_lossy(&bytes[at.saturating_sub(100)..(at + 100).min(bytes.len())]).into_owned())
}

/// "The first request, GET /missing?key=S3cr…, was answered 404" used to be on the terminal, in the store, in JSON and
/// on the page: only `--once` left secrets out.
#[test]
fn no_failure_tells_a_secret() {
    let found = echo("200 OK");
    let missing = echo("404 Not Found");
    let refused = SocketAddr::from(([127, 0, 0, 1], 1));
    let tls = tls().address;
    let http = |address: SocketAddr| format!("http://{address}/a?key={{secret:key}}");
    let body = "[request]\nform = { key = '{secret:key}' }\nexpect_body = ['nowhere']";
    let json = "[request]\nmethod = 'POST'\nbody = '{\"key\":\"{secret:key}\"}'";
    let basic = "[request]\nbasic = 'u{counter}:{secret:key}'";
    let flow = "[[flow]]\n[[flow.step]]\nurl = '/a?key={secret:key}'\ntake = { name = 'regex:key=([^ ]+)' }\n\
                [[flow.step]]\nurl = '/b?again={name}'\nexpect_status = 204";
    let load: &[&str] = &["--rate", "20", "--duration", "300ms", "--no-watch"];
    let once: &[&str] = &["--once"];
    let mut leaks = Vec::new();
    // Name of the failure, the target, the rest of the plan, and more arguments.
    for (name, url, plan, words) in [
        ("status", http(missing), "", load),
        ("status, basic", format!("http://{missing}/"), basic, load),
        ("status, form", format!("http://{missing}/"), body, load),
        ("status under load", format!("http://{missing}/"), json, load),
        ("body", http(found), "[request]\nexpect_body = ['nowhere']", load),
        ("flow", format!("http://{found}"), flow, load),
        ("flow, once", format!("http://{found}"), flow, once),
        ("once", http(missing), "", once),
        ("once, basic", format!("http://{missing}/"), basic, once),
        ("as expected", http(found), "", load),
        ("time-out", http(silent()), "[request]\ntimeout = '200ms'", load),
        ("time-out, once", http(silent()), "[request]\ntimeout = '200ms'", once),
        ("closed", http(closing()), "", load),
        ("refused", http(refused), "", load),
        ("TLS", http(tls).replace("http:", "https:"), "", load),
        ("TLS to none", http(missing).replace("http:", "https:"), "", load),
        ("no such name", "http://no-such-name.invalid/a?key={secret:key}".to_owned(), "", load),
        ("dry run", http(missing), basic, &["--rate", "20", "--duration", "1s", "--dry-run"][..]),
        ("interrupted", http(found), "", &["--rate", "20", "--duration", "30s", "--no-watch"][..]),
        (
            "postgres",
            format!("postgres://me:{{secret:key}}@{}/d?sslmode=disable", telling_postgres()),
            "[request]\nsql = 'select 1'",
            load,
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("key", &format!("{SECRET}\n"));
        sandbox.write("plan.toml", &format!("target.url = '{url}'\n{plan}\n"));
        let running = RunningProcess::start(sandbox.command([&["run", "plan.toml"][..], words].concat()));
        if name == "interrupted" {
            std::thread::sleep(Duration::from_millis(1500));
            running.signal(rustix::process::Signal::INT);
        }
        let ended = running.end();
        println!("{name}: {}\n{}", ended.code(), ended.stderr);
        assert!(!ended.stderr.contains("expected one of") && ended.code() != 2, "{name}: {ended}");
        let mut kept = vec![
            ("stdout".to_owned(), ended.stdout.into_bytes()),
            ("stderr".to_owned(), ended.stderr.into_bytes()),
        ];
        if sandbox.store().exists() {
            for words in [
                &["show"][..],
                &["show", "--format", "json"],
                &["explain"],
                &["list", "--format", "json"],
                &["report", "--output", "page.html"],
                &["report", "--output", "page.md"],
                &["export", "--output", "export"],
            ] {
                let shown = sandbox.torment(words.iter().copied());
                kept.push((words.join(" "), (shown.stdout + &shown.stderr).into_bytes()));
            }
        }
        let mut folders = vec![sandbox.path(".")];
        while let Some(folder) = folders.pop() {
            let files: Vec<PathBuf> =
                std::fs::read_dir(folder).expect("it is ours").flatten().map(|entry| entry.path()).collect();
            for file in files {
                if file.is_dir() {
                    folders.push(file);
                } else if !file.ends_with("key") {
                    kept.push((file.display().to_string(), std::fs::read(&file).expect("it is ours")));
                }
            }
        }
        let held = kept.iter().filter_map(|(place, bytes)| Some((place, holds(bytes)?)));
        leaks.extend(held.map(|(place, around)| format!("{name}: {place}: …{around}…")));
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}
