//! Known server programs, and how to configure each for more of what is scarce.

use record::watch::{TreeWindow, WatchedProcesses};

/// How to configure a service for this many of something.
pub(crate) type ScalingAdvice = fn(u32) -> String;

/// A program known by name.
pub(crate) struct KnownProgram {
    name: &'static str,
    /// Requests are served by single-threaded (or single-interpreter) processes: how to configure this many.
    pub process_advice: Option<ScalingAdvice>,
    /// Its carrying threads are event loops, whatever the others do.
    pub is_event_loop: bool,
    /// The setting for its number of workers, each busy with one request.
    pub worker_setting: Option<&'static str>,
}

const PROGRAMS: [KnownProgram; 15] = [
    looping("uvicorn", |n| format!("uvicorn --workers {n}")),
    looping("hypercorn", |n| format!("hypercorn --workers {n}")),
    looping("daphne", |n| format!("{n} of it behind a balancer")),
    looping("nginx", |n| format!("worker_processes {n} in nginx.conf, or auto")),
    looping("node", |n| format!("node:cluster, or {n} processes behind a balancer")),
    looping("haproxy", |n| format!("nbthread {n} in haproxy.cfg")),
    looping("redis-server", |n| format!("{n} of it, as a cluster")),
    interpreting("gunicorn", "gunicorn --workers, or --threads", |n| format!("gunicorn --workers {n}")),
    interpreting("unicorn", "worker_processes", |n| {
        format!("worker_processes {n} in unicorn's configuration")
    }),
    interpreting("puma", "puma --threads, or --workers", |n| format!("puma --workers {n}")),
    working("php-fpm", "pm.max_children"),
    working("apache2", "MaxRequestWorkers"),
    working("httpd", "MaxRequestWorkers"),
    working("uwsgi", "uwsgi --processes, or --threads"),
    working("waitress-serve", "waitress-serve --threads"),
];

const fn looping(name: &'static str, processes: ScalingAdvice) -> KnownProgram {
    KnownProgram { name, process_advice: Some(processes), is_event_loop: true, worker_setting: None }
}

const fn interpreting(name: &'static str, workers: &'static str, processes: ScalingAdvice) -> KnownProgram {
    KnownProgram {
        name,
        process_advice: Some(processes),
        is_event_loop: false,
        worker_setting: Some(workers),
    }
}

const fn working(name: &'static str, workers: &'static str) -> KnownProgram {
    KnownProgram { name, process_advice: None, is_event_loop: false, worker_setting: Some(workers) }
}

/// By name, with or without a version.
pub(crate) fn find_by_name(name: &str) -> Option<&'static KnownProgram> {
    let name = name.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit());
    PROGRAMS.iter().find(|program| program.name == name)
}

/// By a process's name or the first word of its command line, with or without a version; or by one of the next three words, such as an
/// interpreter's script.
pub(crate) fn find_by_subject(subject: &WatchedProcesses) -> Option<&'static KnownProgram> {
    let known = |name: &str| PROGRAMS.iter().find(|program| program.name == name);
    let file_name = |word: &str| word.rsplit('/').next().unwrap_or(word).trim_end_matches(':').to_owned();
    let mut words = subject.command.split(' ').map(file_name);
    let first = words.next().unwrap_or_default();
    let own = [subject.name.as_str(), &first];
    own.into_iter().find_map(find_by_name).or_else(|| words.take(3).find_map(|word| known(&word)))
}

/// Whether it is Erlang's virtual machine: by its name or, as a script may have started it, by those of its schedulers.
pub(crate) fn is_erlang(subject: &WatchedProcesses, seen: &TreeWindow) -> bool {
    ["beam", "beam.smp"].contains(&subject.name.as_str())
        || ["N_scheduler", "erts_sched_N"].into_iter().any(|name| seen.group(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_what_they_run() {
        for (name, command, known) in [
            ("php-fpm8.2", "php-fpm: master process (/etc/php/fpm.conf)", Some("php-fpm")),
            ("nginx", "nginx: master process nginx -p .", Some("nginx")),
            ("python3.11", "/home/node/venv/bin/python3 /srv/gunicorn/bin/uvicorn app:app", Some("uvicorn")),
            ("python3.11", "python3 -m uvicorn app:app", Some("uvicorn")),
            ("ruby3.1", "unicorn master -c unicorn.rb config.ru", Some("unicorn")),
            ("ruby3.1", "puma 5.6.5 (tcp://0.0.0.0:9292) [app]", Some("puma")),
            ("node20", "/opt/node20/bin/node20 server.js", Some("node")),
            ("myserver", "/usr/bin/myserver --listen 80 --data /var/lib/node1", None),
            ("myserver", "/usr/bin/myserver", None),
        ] {
            let about = WatchedProcesses {
                name: name.to_owned(),
                command: command.to_owned(),
                ..WatchedProcesses::default()
            };
            assert_eq!(find_by_subject(&about).map(|program| program.name), known, "{command}");
        }
    }
}
