use crate::{Error, Store};
use record::{Label, RunId};
use rusqlite::{OptionalExtension, TransactionBehavior, params};
use serde_json::Value;

/// Tags as JSON for the run's row; none if there are none.
pub(crate) fn tags_json(label: &Label) -> Option<String> {
    (!label.tags.is_empty())
        .then(|| serde_json::to_string(&label.tags).expect("a list of texts can always be written"))
}

/// The start of a tag, or of one with it as key, in [`tags_json`].
pub(crate) fn tag_prefix(tag: &str) -> String {
    let mut json = serde_json::to_string(tag).expect("a text can always be written");
    json.pop();
    json
}

impl Store {
    /// Renames or retags a run, finished or not: in its row and in its first event, so that lists and views agree. No measurement
    /// changes. Fails if there is no such run.
    pub fn label(&mut self, id: &RunId, label: &Label) -> Result<(), Error> {
        let mut write = || -> rusqlite::Result<bool> {
            let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let sql = "SELECT run.key, json FROM run LEFT JOIN event ON event.run = run.key AND seq = 0 WHERE id = ?1";
            let found: Option<(i64, Option<String>)> =
                transaction.query_row(sql, [&id.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((key, json)) = found else { return Ok(false) };
            if let Some(json) = json.and_then(|json| relabelled(&json, label)) {
                transaction
                    .execute("UPDATE event SET json = ?2 WHERE run = ?1 AND seq = 0", params![key, json])?;
            }
            transaction.execute(
                "UPDATE run SET name = ?2, tags = ?3, git_commit = ?4 WHERE key = ?1",
                params![key, label.name, tags_json(label), label.commit],
            )?;
            transaction.commit()?;
            Ok(true)
        };
        match write() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.no_run_error(&id.0)?),
            Err(e) => Err(self.error(&e)),
        }
    }
}

/// The first event with another label; other fields stay, even those unknown to this version.
fn relabelled(json: &str, label: &Label) -> Option<String> {
    let mut event: Value = serde_json::from_str(json).ok()?;
    let fields = event.as_object_mut()?;
    if label.is_empty() {
        fields.remove("label");
    } else {
        fields.insert("label".to_owned(), serde_json::to_value(label).expect("texts can always be written"));
    }
    Some(event.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_label_changes() {
        let label = Label { name: Some("a \"b\"".to_owned()), ..Label::default() };
        let json = r#"{"event":"run_started","id":"x","moon":[1.5,"full"]}"#;
        let named = relabelled(json, &label).expect("it is an object");
        let value: Value = serde_json::from_str(&named).expect("it is JSON");
        assert_eq!((&value["label"]["name"], &value["moon"][1]), (&"a \"b\"".into(), &"full".into()));
        let back: Value =
            serde_json::from_str(&relabelled(&named, &Label::default()).expect("it is an object"))
                .expect("it is JSON");
        assert_eq!(back, serde_json::from_str::<Value>(json).expect("it is JSON"));
        assert_eq!(relabelled("[]", &label), None);
    }
}
