//! Describes processes for people.

use record::watch::{TreeRole, WatchedProcesses};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs;
use std::path::Path;

/// Maximum length of a command line.
const LONGEST: usize = 200;
/// Parts of an option or variable name that mark its value as a secret.
const SECRETS: [&str; 9] = units::texts![
    "password" "passwd" "secret" "token" "apikey" "api-key" "api_key" "credential" "authorization"
];

/// Describes a process tree by its first process.
pub(crate) fn describe_subject(
    role: TreeRole,
    pid: u32,
    pids: &[u32],
    listens: Vec<String>,
) -> WatchedProcesses {
    let name = procfs::program(pid).or_else(|| procfs::running_process(pid).map(|process| process.name));
    let name = name.unwrap_or_else(|| "?".to_owned());
    WatchedProcesses {
        role,
        pid,
        command: redact_command(&procfs::arguments(pid)),
        listens,
        cpus: cpus(pid),
        processors: processors(pid),
        java: pids.iter().take(20).find_map(|pid| java_version(*pid)),
        is_go: profile::is_go(&Path::new("/proc").join(pid.to_string()).join("exe")),
        is_postgres: matches!(name.as_str(), "postgres" | "postmaster"),
        name,
    }
}

/// Processors usable: its affinity mask, limited by the smallest quota above it.
fn cpus(pid: u32) -> f64 {
    let mask = mask(pid).map_or_else(here, |mask| f64::from(mask.count()));
    crate::cgroup::cpus(pid).map_or(mask, |quota| quota.min(mask))
}

/// The processors in its affinity mask, if fewer than the machine's.
fn processors(pid: u32) -> Vec<u32> {
    let Some(mask) = mask(pid) else { return Vec::new() };
    let all = fs::read_to_string("/proc/stat").unwrap_or_default();
    if mask.count() >= procfs::count_processors(&all) {
        return Vec::new();
    }
    (0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

fn mask(pid: u32) -> Option<CpuSet> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    sched_getaffinity(Some(pid)).ok()
}

/// Used if its affinity mask may not be read.
fn here() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64)
}

/// A command line, shortened, with asterisks for apparent secrets.
fn redact_command(arguments: &[String]) -> String {
    let mut words = Vec::new();
    let mut hide_next = false;
    for word in arguments {
        let (shown, next) = if hide_next { ("***".to_owned(), false) } else { redact_word(word) };
        hide_next = next;
        words.push(shown.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    // Who rewrites its title leaves the rest of it empty.
    words.retain(|word| !word.is_empty());
    let text: String = words.join(" ").chars().filter(|c| !c.is_control()).collect();
    if text.chars().count() <= LONGEST {
        return text;
    }
    let mut short: String = text.chars().take(LONGEST - 1).collect();
    short.push('…');
    short
}

/// Redacts a word; also whether the next word is a secret.
fn redact_word(word: &str) -> (String, bool) {
    let word = redact_users(word);
    let lower = word.to_ascii_lowercase();
    // ASCII case conversion keeps byte offsets.
    let Some(at) = SECRETS.iter().filter_map(|secret| lower.find(secret)).min() else {
        return (word, false);
    };
    match word[at..].find(['=', ':']) {
        Some(sign) => (format!("{}***", &word[..=at + sign]), false),
        None => {
            let is_option = word.starts_with('-');
            (word, is_option)
        }
    }
}

/// Redacts the user info of each URL.
fn redact_users(word: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(word.len()), word);
    while let Some((scheme, after)) = rest.split_once("://") {
        out.push_str(scheme);
        out.push_str("://");
        let end = after.find(['/', '?', '#']).unwrap_or(after.len());
        let host = after[..end].rfind('@');
        out.push_str(if host.is_some() { "***" } else { "" });
        rest = &after[host.unwrap_or(0)..];
    }
    out + rest
}

/// Version of the Java VM in a process, if any: from the `release` file beside its library, or from its
/// counters; a question mark if unknown.
fn java_version(pid: u32) -> Option<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let library = maps.lines().find_map(|line| {
        let path = &line[line.find('/')?..];
        path.trim_end_matches(" (deleted)").ends_with("/libjvm.so").then(|| path.to_owned())
    });
    let Some(library) = library else {
        // Another user's, whose mappings may not be read.
        let is_one =
            maps.is_empty() && procfs::running_process(pid).is_some_and(|process| process.name == "java");
        return is_one.then(|| crate::jvm::version(pid).unwrap_or_else(|| "?".to_owned()));
    };
    let home = Path::new(&library).ancestors().nth(3)?;
    let file = Path::new("/proc").join(pid.to_string()).join("root").join(home.strip_prefix("/").ok()?);
    let text = fs::read_to_string(file.join("release")).unwrap_or_default();
    Some(release(&text).or_else(|| crate::jvm::version(pid)).unwrap_or_else(|| "?".to_owned()))
}

fn release(text: &str) -> Option<String> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(line.trim_matches('"').to_owned())
    };
    value("JAVA_RUNTIME_VERSION").or_else(|| value("JAVA_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_starred() {
        let check = |arguments: &[&str], expected: &str| {
            let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(redact_command(&arguments), expected);
        };
        check(&["java", "-jar", "a.jar"], "java -jar a.jar");
        check(&["x", "--password", "hunter2", "b"], "x --password *** b");
        check(&["x", "-Ddb.password=hunter2"], "x -Ddb.password=***");
        check(&["x", "API_TOKEN=abc", "y"], "x API_TOKEN=*** y");
        check(&["x", "postgres://me:hunter2@db:5432/x"], "x postgres://***@db:5432/x");
        check(&["x", "http://db:5432/a@b"], "x http://db:5432/a@b");
        check(&["x", "jdbc:db://me:hunter2@db/x?password=hunter2"], "x jdbc:db://***@db/x?password=***");
        check(&["x", "--at=http://a:hunter2@b:1,http://c:hunter2@d"], "x --at=http://***@b:1,http://***@d");
        check(&["x", "-H", "Authorization: Basic bWU6aHVudGVyMg=="], "x -H Authorization:***");
        check(&["token"], "token");
        check(&["a\nb\u{1b}[31m"], "a b[31m");
        check(&[], "");
        let long = "ä".repeat(300);
        assert_eq!(redact_command(&[long]).chars().count(), LONGEST);
    }

    #[test]
    fn releases() {
        let text = "IMPLEMENTOR=\"X\"\nJAVA_RUNTIME_VERSION=\"17.0.15+6-Debian\"\nJAVA_VERSION=\"17.0.15\"\n";
        assert_eq!(release(text).as_deref(), Some("17.0.15+6-Debian"));
        assert_eq!(release("JAVA_VERSION=\"17\"").as_deref(), Some("17"));
        assert_eq!(release("JAVA_VERSIONS=1"), None);
    }

    #[test]
    fn this_process() {
        let pid = std::process::id();
        let subject = describe_subject(TreeRole::Service, pid, &[pid], Vec::new());
        assert!(subject.cpus > 0.0 && subject.name.contains("observe"), "{subject:?}");
        assert_eq!((subject.java, subject.is_postgres, subject.is_go), (None, false, false));
    }
}
