//! Process titles, normalised so that processes of a kind share one.

use procfs::without_digits;

/// Maximum length.
const LONGEST: usize = 60;

/// The title in a /proc/PID/cmdline. Of a genuine command line only the program is taken: arguments are the
/// same for all processes of a kind, and may hold secrets.
pub(crate) fn parse_title(cmdline: &[u8]) -> Option<String> {
    let first = cmdline.split(|byte| *byte == 0).next()?;
    let first = String::from_utf8_lossy(first);
    let first = first.trim();
    if first.is_empty() {
        return None;
    }
    let Some((program, does)) = first.split_once(": ") else {
        // Some write their title without a colon; a path rarely has a blank before its last slash.
        let program = first.split(' ').next().unwrap_or(first);
        return Some(digits(program.rsplit('/').next().unwrap_or(program)));
    };
    let does = does.trim();
    let does = match program {
        "postgres" => postgres(does),
        _ => does,
    };
    Some(digits(format!("{program}: {does}").trim_end_matches([' ', ':'])))
}

/// A session's title is `user database host(port) what`, with the cluster's name in front if it has one:
/// its activity follows the host.
fn postgres(title: &str) -> &str {
    let is_host = |word: &str| word == "[local]" || (word.ends_with(')') && word.contains('('));
    let mut rest = title;
    // The statement's words may look like hosts: the first match is the host.
    while let Some((word, after)) = rest.split_once(' ') {
        if is_host(word) {
            return after.trim();
        }
        rest = after;
    }
    if is_host(rest) { "" } else { title }
}

/// Replaces numbers, so that they do not make kinds; and cuts.
fn digits(text: &str) -> String {
    let folded = without_digits(text.chars().take(4 * LONGEST));
    match folded.char_indices().nth(LONGEST) {
        Some((at, _)) => folded[..at].to_owned(),
        None => folded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles() {
        for (cmdline, expected) in [
            ("postgres: app shop 127.0.0.1(51234) idle\0\0\0", "postgres: idle"),
            ("postgres: app shop 10.0.0.7(51234) idle in transaction", "postgres: idle in transaction"),
            ("postgres: app shop [local] UPDATE waiting", "postgres: UPDATE waiting"),
            ("postgres: main: app shop ::1(5) SELECT", "postgres: SELECT"),
            ("postgres: app shop [local] ", "postgres"),
            ("postgres: checkpointer \0", "postgres: checkpointer"),
            ("postgres: parallel worker for PID 4711 ", "postgres: parallel worker for PID N"),
            ("/usr/lib/postgresql/15/bin/postgres\0-D\0/data\0", "postgres"),
            ("nginx: worker process", "nginx: worker process"),
            ("php-fpm: pool www2", "php-fpm: pool wwwN"),
            ("/usr/bin/python3\0app.py\0--password=x\0", "pythonN"),
        ] {
            assert_eq!(parse_title(cmdline.as_bytes()).as_deref(), Some(expected), "{cmdline:?}");
        }
        assert_eq!(parse_title(b""), None);
        assert_eq!(parse_title(b"\0\0"), None);
        assert_eq!(parse_title(&[0xff; 500]).map(|title| title.chars().count()), Some(LONGEST));
    }
}
