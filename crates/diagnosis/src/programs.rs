//! Programs that people run services with, and what each is told to have more of what it has too few of.

use record::watch::Subject;

/// What has to be said to a service to have so many of a thing.
pub(crate) type More = fn(u32) -> String;

/// A program that is known by its name.
pub(crate) struct Program {
    name: &'static str,
    /// Its requests are served by processes of one loop, or of one interpreter, each: how it is given so many.
    pub processes: Option<More>,
    /// Whatever its other threads do, those that carry it are event loops.
    pub loops: bool,
    /// What sets the number of its workers, each busy with one request.
    pub workers: Option<&'static str>,
}

const PROGRAMS: [Program; 15] = [
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

const fn looping(name: &'static str, processes: More) -> Program {
    Program { name, processes: Some(processes), loops: true, workers: None }
}

const fn interpreting(name: &'static str, workers: &'static str, processes: More) -> Program {
    Program { name, processes: Some(processes), loops: false, workers: Some(workers) }
}

const fn working(name: &'static str, workers: &'static str) -> Program {
    Program { name, processes: None, loops: false, workers: Some(workers) }
}

/// The one that a process runs: by its own name, or by a word of its command line, without a version.
pub(crate) fn program(about: &Subject) -> Option<&'static Program> {
    let words = about.command.split([' ', '/', ':']).chain([about.name.as_str()]);
    let mut names = words.map(|word| word.trim_end_matches(|c: char| c == '.' || c.is_ascii_digit()));
    names.find_map(|name| PROGRAMS.iter().find(|program| program.name == name))
}
