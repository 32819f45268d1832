//! The settings by which the plans of runs differ.

/// How many differing settings of two plans are named.
const MAX_SETTINGS: usize = 4;
/// The target's setting, and those of the request rate.
const TARGET_KEY: &str = "target.url";
const RATE_KEYS: [&str; 2] = ["load.rate", "load.stages"];

/// The settings by which two plans differ: `seed 1 → 2`; without the rates, which a verdict begins with, and without the target's address
/// if already told.
pub(super) fn plan_differences(first: &str, other: &str, target_is_told: bool) -> Option<String> {
    let all = differing(first, other);
    let is_told = |key: &str| RATE_KEYS.contains(&key) || (target_is_told && key == TARGET_KEY);
    let all: Vec<&SettingChange> = all.iter().filter(|(key, _)| !is_told(key)).collect();
    let name = |key: &str| key.rsplit_once('.').map_or(key, |(_, name)| name).to_owned();
    let alone = |key: &str| all.iter().filter(|(other, _)| name(other) == name(key)).count() == 1;
    let said = all
        .iter()
        .map(|(key, words)| format!("{} {words}", if alone(key) { name(key) } else { key.clone() }));
    let shown = said.take(MAX_SETTINGS).collect::<Vec<_>>().join(", ");
    let more = all.len().saturating_sub(MAX_SETTINGS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!all.is_empty()).then(|| shown + &more)
}

/// A key with its tables as prefix, and its change.
type SettingChange = (String, String);

fn differing(first: &str, other: &str) -> Vec<SettingChange> {
    let [first, other] = [first, other].map(settings);
    let find = |of: &[Setting], key: &str| {
        let found = of.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
        found.unwrap_or_else(|| "not set".to_owned())
    };
    let new = other.iter().filter(|(key, _)| first.iter().all(|(known, _)| known != key));
    let keys = first.iter().chain(new).map(|(key, _)| key.clone());
    keys.map(|key| (find(&first, &key), find(&other, &key), key))
        .filter(|(before, after, _)| before != after)
        .map(|(before, after, key)| (key, format!("{before} → {after}")))
        .collect()
}

/// How the rates of two plans differ, if they do, which may explain a difference of the results. `rate 1500 → 1900`.
pub(super) fn rate_differences(first: &str, other: &str) -> Option<String> {
    let all = differing(first, other);
    let rates = all.iter().filter(|(key, _)| RATE_KEYS.contains(&key.as_str()));
    let said = rates.map(|(key, words)| format!("{} {words}", key.trim_start_matches("load.")));
    let said = said.collect::<Vec<_>>().join(", ");
    (!said.is_empty()).then_some(said)
}

/// A key with its tables as prefix, and its value.
type Setting = (String, String);

/// All settings of a plan; if it was typed rather than read from a file, the whole text.
fn settings(plan: &str) -> Vec<Setting> {
    let mut found = Vec::new();
    match plan.parse::<toml::Table>() {
        Ok(table) => gather("", &toml::Value::Table(table), &mut found),
        Err(_) => found.push(("command".to_owned(), plan.trim().to_owned())),
    }
    found
}

fn gather(key: &str, value: &toml::Value, found: &mut Vec<Setting>) {
    let inner = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(name, value)| gather(&inner(name), value, found));
        }
        toml::Value::Array(all) if !all.is_empty() && all.iter().all(toml::Value::is_table) => {
            for (nth, value) in (1..).zip(all) {
                gather(&format!("{key} {nth}"), value, found);
            }
        }
        toml::Value::String(text) => found.push((key.to_owned(), text.clone())),
        value => found.push((key.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_that_differ() {
        assert_eq!(plan_differences("rate = 5\n", "rate = 5\n", false), None);
        let demo = "rate = 5\n[target]\nurl = \"demo\"\n";
        let null = "rate = 6\nseed = 2\n[target]\n  url = \"null\"\n";
        assert_eq!(
            plan_differences(demo, null, false).as_deref(),
            Some("rate 5 → 6, url demo → null, seed not set → 2")
        );
        let told = "rate 5 → 6, seed not set → 2";
        assert_eq!(
            plan_differences(demo, null, true).as_deref(),
            Some(told),
            "that of the target is told already"
        );
        let flows = |last: &str| format!("[[step]]\nurl = \"/a\"\n[[step]]\nurl = \"/{last}\"\n");
        assert_eq!(
            plan_differences(&flows("b"), &flows("c"), false).as_deref(),
            Some("url /b → /c"),
            "the second is not the first"
        );
        assert_eq!(
            plan_differences("[a]\nurl = 1\n[b]\nurl = 2\n", "[a]\nurl = 3\n", false).as_deref(),
            Some("a.url 1 → 3, b.url 2 → not set")
        );
        let lines = "headers = [\n  \"x: 1\",\n]\n";
        assert_eq!(
            plan_differences(lines, &lines.replace('1', "2"), false).as_deref(),
            Some("headers [\"x: 1\"] → [\"x: 2\"]")
        );
        assert_eq!(
            plan_differences("launch --blocks 3", "launch --blocks 4", false).as_deref(),
            Some("command launch --blocks 3 → launch --blocks 4")
        );
        let load = |rate: u32| format!("[load]\nrate = {rate}\narrivals = \"even\"\n");
        assert_eq!(rate_differences(&load(5), &load(6)).as_deref(), Some("rate 5 → 6"));
        assert_eq!(
            (rate_differences(&load(5), &load(5)), plan_differences(&load(5), &load(6), false)),
            (None, None),
            "it is told once"
        );
        let connections = "[load]\nconnections = 4\n";
        assert_eq!(
            rate_differences(connections, &connections.replace('4', "8")),
            None,
            "as many as it answers"
        );
        let many: String = (0..9).map(|n| format!("a{n} = 1\n")).collect();
        assert!(plan_differences("", &many, false).expect("they differ").ends_with(" and 5 more"));
    }
}
