use crate::{Error, Store};
use record::RunId;
use rusqlite::{OptionalExtension, Params, params};

/// Matches shown.
const MAX_SHOWN: usize = 5;
/// Runs searched for a similar name: older ones are hardly meant.
const MAX_SEARCHED: i64 = 1000;
/// Similar names shown.
const MAX_NEAR: usize = 3;

/// Parses `last` or `last~N`, into the number of runs before the last; `Err` if only the prefix matches.
fn parse_last(query: &str) -> Option<Result<u32, ()>> {
    let rest = query.strip_prefix("last")?;
    match rest.strip_prefix('~') {
        None if rest.is_empty() => Some(Ok(0)),
        None => None,
        Some(number) => Some(number.parse().map_err(|_| ())),
    }
}

/// Checks a run's name. `last` and `last~N` are reserved.
///
/// # Errors
/// The reason, in words.
pub fn check_name(name: &str) -> Result<(), String> {
    const LONGEST: usize = 100;
    let why = match name {
        _ if name.trim().is_empty() => "a name needs at least one letter",
        _ if name != name.trim() => "a name neither begins nor ends with a space",
        _ if name.chars().count() > LONGEST => "a name has at most 100 characters",
        _ if name.chars().any(char::is_control) => "a name is one line of plain text",
        _ if parse_last(name).is_some() => "last and last~N mean the latest runs already",
        _ => return Ok(()),
    };
    Err(format!("'{name}' cannot be the name of a run: {why}"))
}

impl Store {
    /// Finds a run by id, by `last` or `last~N` (N before the last), by name (the latest of that name), or by a prefix of its id; tried
    /// in this order. Measurements of an experiment do not count as last. Fails if none matches, or the prefix is ambiguous.
    pub fn find(&self, query: &str) -> Result<RunId, Error> {
        if query.is_empty() {
            return Err(self.no_run_error(query)?);
        }
        if let Some(id) = self.first("SELECT id FROM run WHERE id = ?1", [query])? {
            return Ok(id);
        }
        if let Some(back) = parse_last(query) {
            let sql = "SELECT id FROM run WHERE part_of IS NULL ORDER BY started_unix_ms DESC, key DESC LIMIT 1 OFFSET ?1";
            let found = back.map_or(Ok(None), |back| self.first(sql, [back]))?;
            return found.map_or_else(|| Err(self.no_run_error(query)?), Ok);
        }
        let named = "SELECT id FROM run WHERE name = ?1 ORDER BY started_unix_ms DESC, key DESC LIMIT 1";
        if let Some(id) = self.first(named, [query])? {
            return Ok(id);
        }
        let mut fits = self.ids_starting_with(query)?;
        match (fits.pop(), fits.is_empty()) {
            (None, _) => Err(self.no_run_error(query)?),
            (Some(one), true) => Ok(RunId(one)),
            (Some(another), false) => {
                fits.push(another);
                Err(Error::Ambiguous { asked: query.to_owned(), fits })
            }
        }
    }

    fn first(&self, sql: &str, params: impl Params) -> Result<Option<RunId>, Error> {
        let found = self.db.query_row(sql, params, |row| row.get(0).map(RunId)).optional();
        found.map_err(|e| self.error(&e))
    }

    /// Some of the ids with this prefix, newest first.
    fn ids_starting_with(&self, query: &str) -> Result<Vec<String>, Error> {
        let sql = "SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY started_unix_ms DESC, key DESC LIMIT ?2";
        self.rows(sql, params![query, MAX_SHOWN as i64], |row| row.get(0))
    }

    /// The error that there is no such run, with similar names.
    pub(crate) fn no_run_error(&self, query: &str) -> Result<Error, Error> {
        let sql = "SELECT DISTINCT coalesce(name, id) FROM (SELECT name, id FROM run
                   ORDER BY started_unix_ms DESC, key DESC LIMIT ?1)";
        let all: Vec<String> = self.rows(sql, [MAX_SEARCHED], |row| row.get(0))?;
        Ok(Error::NoRun { asked: query.to_owned(), kept: self.count()?, near: nearest_names(query, &all) })
    }
}

/// Names and ids within an edit distance of a third of its letters, or that contain it.
fn nearest_names(query: &str, all: &[String]) -> Vec<String> {
    let lowercase = query.to_lowercase();
    let max_distance = (lowercase.chars().count() / 3).max(1);
    let mut found: Vec<(usize, &String)> = all
        .iter()
        .filter_map(|name| {
            let other = name.to_lowercase();
            let distance = strsim::levenshtein(&lowercase, &other);
            let is_part = !lowercase.is_empty() && other.contains(&lowercase);
            (distance <= max_distance || is_part).then_some((distance, name))
        })
        .collect();
    // The sort is stable: of those equally near the newest come first.
    found.sort_by_key(|(far, _)| *far);
    found.into_iter().take(MAX_NEAR).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ() {
        for (one, other, expected) in
            [("", "", 0), ("abc", "", 3), ("", "abc", 3), ("kitten", "sitting", 3), ("größe", "grösse", 2)]
        {
            assert_eq!(strsim::levenshtein(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn near_ones_are_named() {
        let all = ["before", "After", "after-2", "20261121-1"].map(str::to_owned);
        assert_eq!(nearest_names("aftr", &all), ["After"]);
        assert_eq!(nearest_names("after", &all), ["After", "after-2"]);
        assert_eq!(nearest_names("befor", &all), ["before"]);
        assert_eq!(nearest_names("something", &all), [""; 0]);
        assert_eq!(nearest_names("", &all), [""; 0]);
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in ["before", "a b", "größe", "lasting", "<b>", &"x".repeat(100)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", " ", " a", "a\nb", "last", "last~1", "last~x", &"x".repeat(101)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
