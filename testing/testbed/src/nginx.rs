//! A private nginx: one worker, the default page, and its own count of requests. For long
//! loads it also speaks HTTP/2 without TLS, on a second port.

use crate::server::{command, free_port, stop, temp_folder};
use rustix::process::Signal;
use service::postgres::ordinary_user;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

const START_PATIENCE: Duration = Duration::from_secs(20);
/// More than any test makes.
const CONNECTIONS: u32 = 20_000;

/// A running server.
pub struct Nginx {
    server: Child,
    port: u16,
    http2_port: Option<u16>,
    tls_port: Option<u16>,
    folder: tempfile::TempDir,
}

impl Nginx {
    /// Starts a server on a free port of 127.0.0.1. `None`, with a message, if nginx is not installed;
    /// panics if it is installed and does not start.
    pub fn start() -> Option<Self> {
        Some(Self::start_with(&find_or_skip()?, ["", ""]))
    }

    /// Like [`Self::start`], with this limit on its worker's connections of all kinds.
    pub fn start_with_connections(count: u32) -> Option<Self> {
        Some(Self::start_holding(&find_or_skip()?, count, ["", "keepalive_requests 1000000000;"]))
    }

    /// Like [`Self::start`], for long loads: no limit of requests per connection, and all waiting
    /// connections are accepted at once.
    pub fn start_for_load() -> Option<Self> {
        Some(Self::start_with(&find_or_skip()?, ["multi_accept on;", "keepalive_requests 1000000000;"]))
    }

    fn start_with(program: &Path, extra: [&str; 2]) -> Self {
        Self::start_holding(program, CONNECTIONS, extra)
    }

    fn start_holding(program: &Path, connections: u32, extra: [&str; 2]) -> Self {
        let built = Command::new(program).arg("-V").output().expect("nginx can be run");
        let knows = |module: &str| String::from_utf8_lossy(&built.stderr).contains(module);
        let http2_port = knows("http_v2_module").then(free_port);
        let tls_port = (http2_port.is_some() && knows("http_ssl_module")).then(free_port);
        let user = ordinary_user("www-data");
        let folder = temp_folder("torment-nginx-", user);
        let port = free_port();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("index.html"), PAGE).expect("the folder is writable");
        if tls_port.is_some() {
            let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])
                .expect("a certificate can be made");
            fs::write(at("certificate.pem"), made.cert.pem()).expect("the folder is writable");
            fs::write(at("key.pem"), made.signing_key.serialize_pem()).expect("the folder is writable");
        }
        fs::write(at("nginx.conf"), configuration(connections, port, http2_port, tls_port, extra))
            .expect("the folder is writable");
        let server = command(program, user, folder.path())
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(at("nginx.conf"))
            .arg("-e")
            .arg(at("error.log"))
            .spawn()
            .expect("nginx can be run");
        let mut this = Self { server, port, http2_port, tls_port, folder };
        let until = Instant::now() + START_PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = this.server.try_wait().expect("it is our child");
            let log = || fs::read_to_string(this.folder.path().join("error.log")).unwrap_or_default();
            assert!(ended.is_none(), "nginx ended at once: {}", log());
            assert!(Instant::now() < until, "nginx did not start: {}", log());
            sleep(Duration::from_millis(20));
        }
        this
    }

    /// `http://127.0.0.1:PORT/`, the default page.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The same page over HTTP/2 without TLS, by prior knowledge, if this nginx supports it.
    pub fn http2_url(&self) -> Option<String> {
        Some(format!("http://127.0.0.1:{}/", self.http2_port?))
    }

    /// The same page over TLS, by HTTP/2 or 1.1, with a self-signed certificate, if this
    /// nginx supports both.
    pub fn tls_url(&self) -> Option<String> {
        Some(format!("https://127.0.0.1:{}/", self.tls_port?))
    }

    /// Requests answered so far, by its own count, without those of this function.
    pub fn requests(&self) -> u64 {
        self.connection_counts()[2] - 1
    }

    /// Connections accepted so far, by its own count, with those of this function.
    pub fn connections(&self) -> u64 {
        self.connection_counts()[0]
    }

    /// Connections accepted and handled, and requests.
    fn connection_counts(&self) -> [u64; 3] {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let ask = "GET /requests HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        stream.write_all(ask.as_bytes()).expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in text");
        // The numbers below the line "server accepts handled requests".
        let line = answer.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1);
        let numbers = line.unwrap_or_default().split_whitespace().map(str::parse);
        let numbers: Option<Vec<u64>> = numbers.map(Result::ok).collect();
        let counts = numbers.and_then(|numbers| numbers.try_into().ok());
        counts.unwrap_or_else(|| panic!("no counts in {answer}"))
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM is its fast shutdown; the worker ends with the master.
        stop(&mut self.server, Signal::TERM);
    }
}

/// As long as nginx's default page.
const PAGE: &str = "<!DOCTYPE html>
<html><head><title>Welcome to nginx!</title>
<style>html { color-scheme: light dark; } body { width: 35em; margin: 0 auto; font-family: Tahoma, Verdana, Arial, sans-serif; }</style>
</head><body><h1>Welcome to nginx!</h1>
<p>If you see this page, the nginx web server is successfully installed and working. Further configuration is required.</p>
<p>For online documentation and support please refer to its documentation.</p>
<p><em>Thank you for using nginx.</em></p></body></html>
";

/// One worker in the foreground; every path inside the folder. Further directives go into `events` and `server`.
fn configuration(
    connections: u32,
    port: u16,
    http2_port: Option<u16>,
    tls_port: Option<u16>,
    [events, server]: [&str; 2],
) -> String {
    let http2 = http2_port.map_or(String::new(), |port| format!("listen 127.0.0.1:{port} http2;"));
    let tls = tls_port.map_or(String::new(), |port| {
        format!(
            "listen 127.0.0.1:{port} ssl http2; ssl_certificate certificate.pem; ssl_certificate_key key.pem;"
        )
    });
    format!(
        "daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid nginx.pid;
events {{ worker_connections {connections}; {events} }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    types {{ text/html html; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        {http2}
        {tls}
        {server}
        root .;
        location = /requests {{ stub_status; }}
    }}
}}
"
    )
}

/// The program; if missing, says so.
fn find_or_skip() -> Option<PathBuf> {
    let program = program();
    if program.is_none() {
        eprintln!("SKIPPED: nginx is not installed (apt-get install nginx-light)");
    }
    program
}

/// Debian installs it where ordinary users do not look.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join("nginx"))
        .find(|program| program.is_file())
}
