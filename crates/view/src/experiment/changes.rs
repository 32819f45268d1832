//! What an arm changes, and how.

/// Prefix of a flag, which is shown together with its value.
const FLAG: char = '-';

/// A change in words; a changed command is reduced to what differs from the plan's: `--workers 10 → 20`.
pub(super) fn describe(change: &str, plan: &str) -> String {
    let Some(before) = command(plan) else { return change.to_owned() };
    differing(&before, change).unwrap_or_else(|| change.to_owned())
}

/// The command of the plan's service.
fn command(plan: &str) -> Option<String> {
    let plan: toml::Table = plan.parse().ok()?;
    let command = plan.get("service")?.get("command")?;
    match command.as_array() {
        Some(words) => Some(words.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(" ")),
        None => command.as_str().map(str::to_owned),
    }
}

/// How two commands of one program differ; `None` for different programs, or if nearly everything differs.
fn differing(before: &str, after: &str) -> Option<String> {
    let [before, after] = [before, after].map(|line| line.split_whitespace().collect::<Vec<_>>());
    let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let rest = before.len().min(after.len()) - same;
    let ends = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(rest)
        .take_while(|(one, other)| one == other)
        .count();
    if same == 0 {
        return None;
    }
    let part = |of: &[&str]| of[same..of.len() - ends].join(" ");
    let (from, to) = (part(&before), part(&after));
    // A value means little without its flag.
    let flag = before[..same].last().filter(|word| word.starts_with(FLAG)).map(|flag| format!("{flag} "));
    let flag = flag.filter(|_| !from.starts_with(FLAG) && !to.starts_with(FLAG)).unwrap_or_default();
    Some(match (from.is_empty(), to.is_empty()) {
        (true, true) => return None,
        (true, false) => format!("with {flag}{to}"),
        (false, true) => format!("without {flag}{from}"),
        (false, false) => format!("{flag}{from} → {to}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_command_what_differs_is_told() {
        let plan = "[service]\ncommand = [\"app\", \"--listen\", \"1\", \"--workers\", \"10\"]\n";
        for (change, expected) in [
            ("app --listen 1 --workers 20", "--workers 10 → 20"),
            ("app --listen 1 --workers 10 --queue 1000", "with --queue 1000"),
            ("app --listen 1", "without --workers 10"),
            ("app --threads 4 --listen 1 --workers 10", "with --threads 4"),
            ("app --listen 2 --workers 10", "--listen 1 → 2"),
            ("another --listen 1", "another --listen 1"),
            ("THREADS=200 ▶ 400", "THREADS=200 ▶ 400"),
        ] {
            assert_eq!(describe(change, plan), expected, "{change}");
        }
        assert_eq!(describe("app --workers 20", ""), "app --workers 20", "of a plan that is not kept");
    }
}
