//! Programs that people run services with, and what each is told to have more of what it has too few of.

use record::watch::WatchedProcesses;

/// What has to be said to a service to have so many of a thing.
pub(crate) type ScalingAdvice = fn(u32) -> String;

/// A program that is known by its name.
pub(crate) struct KnownProgram {
    name: &'static str,
    /// Its requests are served by processes of one loop, or of one interpreter, each: how it is given so many.
    pub processes: Option<ScalingAdvice>,
    /// Whatever its other threads do, those that carry it are event loops.
    pub loops: bool,
    /// What sets the number of its workers, each busy with one request.
    pub workers: Option<&'static str>,
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
    KnownProgram { name, processes: Some(processes), loops: true, workers: None }
}

const fn interpreting(name: &'static str, workers: &'static str, processes: ScalingAdvice) -> KnownProgram {
    KnownProgram { name, processes: Some(processes), loops: false, workers: Some(workers) }
}

const fn working(name: &'static str, workers: &'static str) -> KnownProgram {
    KnownProgram { name, processes: None, loops: false, workers: Some(workers) }
}

/// The one that is called so, or so with a version.
pub(crate) fn find_by_name(name: &str) -> Option<&'static KnownProgram> {
    let name = name.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit());
    PROGRAMS.iter().find(|program| program.name == name)
}

/// The one that a process runs: by its own name or the first word of its command line, which may have a version; or by one of the next three, such
/// as what an interpreter is to run.
pub(crate) fn find_by_subject(about: &WatchedProcesses) -> Option<&'static KnownProgram> {
    let known = |name: &str| PROGRAMS.iter().find(|program| program.name == name);
    let file = |word: &str| word.rsplit('/').next().unwrap_or(word).trim_end_matches(':').to_owned();
    let mut words = about.command.split(' ').map(file);
    let first = words.next().unwrap_or_default();
    let own = [about.name.as_str(), &first];
    own.into_iter().find_map(find_by_name).or_else(|| words.take(3).find_map(|word| known(&word)))
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
