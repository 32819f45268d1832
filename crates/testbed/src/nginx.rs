//! An nginx of the test's own: one worker, the default page, and its own count of requests.

use crate::server::{command, folder, free_port, ordinary_user, stop};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

const START_PATIENCE: Duration = Duration::from_secs(20);

/// A running server.
pub struct Nginx {
    server: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Nginx {
    /// Starts a server on a free port of 127.0.0.1. `None`, said aloud, when nginx is not installed;
    /// panics when it is installed and does not start.
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("SKIPPED: nginx is not installed (apt-get install nginx-light)");
            return None;
        };
        let user = ordinary_user("www-data");
        let folder = folder("torment-nginx-", user);
        let port = free_port();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("index.html"), PAGE).expect("the folder is writable");
        fs::write(at("nginx.conf"), configuration(port)).expect("the folder is writable");
        let server = command(&program, user, folder.path())
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(at("nginx.conf"))
            .arg("-e")
            .arg(at("error.log"))
            .spawn()
            .expect("nginx can be run");
        let mut this = Self { server, port, folder };
        let until = Instant::now() + START_PATIENCE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = this.server.try_wait().expect("it is our child");
            let log = || fs::read_to_string(this.folder.path().join("error.log")).unwrap_or_default();
            assert!(ended.is_none(), "nginx ended at once: {}", log());
            assert!(Instant::now() < until, "nginx did not start: {}", log());
            sleep(Duration::from_millis(20));
        }
        Some(this)
    }

    /// `http://127.0.0.1:PORT/`, the default page.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Requests that it has answered so far, by its own count, without those of this function.
    pub fn requests(&self) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let ask = "GET /requests HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        stream.write_all(ask.as_bytes()).expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers in text");
        // The third of the numbers in the line below "server accepts handled requests".
        let count = answer.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1);
        let count = count.and_then(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
        count.unwrap_or_else(|| panic!("no count in {answer}")) - 1
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM is its fast shutdown; the worker ends with the master.
        stop(&mut self.server, Signal::TERM);
    }
}

/// As long as the page that nginx comes with.
const PAGE: &str = "<!DOCTYPE html>
<html><head><title>Welcome to nginx!</title>
<style>html { color-scheme: light dark; } body { width: 35em; margin: 0 auto; font-family: Tahoma, Verdana, Arial, sans-serif; }</style>
</head><body><h1>Welcome to nginx!</h1>
<p>If you see this page, the nginx web server is successfully installed and working. Further configuration is required.</p>
<p>For online documentation and support please refer to its documentation.</p>
<p><em>Thank you for using nginx.</em></p></body></html>
";

/// One worker in the foreground; every path inside the folder.
fn configuration(port: u16) -> String {
    format!(
        "daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
pid nginx.pid;
events {{ worker_connections 20000; }}
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
        root .;
        location = /requests {{ stub_status; }}
    }}
}}
"
    )
}

/// Debian keeps it where ordinary users do not look.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join("nginx"))
        .find(|program| program.is_file())
}
