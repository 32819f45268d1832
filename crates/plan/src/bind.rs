use crate::error::{Error, GivenAt};
use crate::{
    Arrivals, Data, Fit, Load, Order, Piece, Plan, Rows, SecretFrom, Stage, Task, data, secret::Hidden,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::grouped;

/// Gives the text of a file or the value of a variable, or says why not.
type Ask<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

impl Plan {
    /// Fills in every value that is not in the plan itself: of data files, of files that hold a secret
    /// (`read` gives their text) and of the environment (`env` gives a variable).
    ///
    /// Values are escaped for where they stand: in the path what no path can hold, in a form
    /// (by its content type) as a form field. Elsewhere they are sent as they are.
    ///
    /// # Errors
    /// If one cannot be had, a data file is malformed or lacks the column, a value is one that no
    /// header can hold, or the load needs more rows than there are. No message holds a secret.
    pub fn bind(
        &mut self,
        mut read: impl FnMut(&str) -> Result<String, String>,
        mut env: impl FnMut(&str) -> Result<String, String>,
    ) -> Result<(), Error> {
        let sets = std::mem::take(&mut self.data);
        let mut tables = Tables { sets: &sets, texts: BTreeMap::new(), columns: BTreeMap::new() };
        let mut result = Ok(());
        for template in self.templates_mut() {
            template.visit_mut(&mut |piece| {
                if result.is_ok() {
                    result = tables.fill(piece, &mut read, &mut env);
                }
            });
        }
        self.data = sets;
        result?;
        self.check_rows()
    }

    /// How many arrivals there is data for, if a data set is used up: rows with `order = "once"`.
    /// Known after [`Plan::bind`].
    pub fn arrivals_limit(&self) -> Option<u64> {
        self.scarcest().map(|(_, rows)| rows)
    }

    /// The data set that is used up first, and its rows.
    fn scarcest(&self) -> Option<(String, u64)> {
        let mut least: Option<(String, u64)> = None;
        self.visit(|piece| {
            if let Piece::Field { of: Rows::Data(name), order: Order::Once, values, .. } = piece {
                let rows = values.len() as u64;
                if least.as_ref().is_none_or(|(_, least)| rows < *least) {
                    least = Some((name.clone(), rows));
                }
            }
        });
        least
    }

    fn check_rows(&self) -> Result<(), Error> {
        let (Some((name, rows)), Some(arrivals)) = (self.scarcest(), self.arrivals()) else { return Ok(()) };
        if arrivals <= rows {
            return Ok(());
        }
        Err(Error::whole(format!(
            "the load has {} arrivals, and the data set '{name}' {} rows, each for one of them: shorten the load, \
             or let it start again with order = \"cycle\"",
            grouped(arrivals),
            grouped(rows)
        )))
    }

    /// How many arrivals the load has, if the plan says so.
    fn arrivals(&self) -> Option<u64> {
        match &self.task {
            Task::Run(Load::Open { stages, arrivals: Arrivals::Even }) => {
                Some(planned(stages).round() as u64)
            }
            Task::Run(Load::Closed { requests, .. }) => *requests,
            _ => None,
        }
    }
}

/// Arrivals that stages offer.
pub(crate) fn planned(stages: &[Stage]) -> f64 {
    stages.iter().map(|s| (s.from.0 + s.to.0) / 2.0 * s.duration.as_secs_f64()).sum()
}

/// What was read so far: each file once, and one copy of each column for each way it is written.
struct Tables<'a> {
    sets: &'a [Data],
    texts: BTreeMap<String, String>,
    columns: BTreeMap<(String, String, Fit), Arc<[String]>>,
}

impl Tables<'_> {
    fn fill(&mut self, piece: &mut Piece, read: Ask<'_>, env: Ask<'_>) -> Result<(), Error> {
        let shown = piece.to_string();
        let failed = |why: String| Error::whole(format!("{shown}: {why}"));
        match piece {
            Piece::Field { of, column, fit, values, .. } => {
                let file = match of {
                    Rows::File(file) => file.as_str(),
                    Rows::Data(name) => {
                        let set = self.sets.iter().find(|set| set.name == *name);
                        &set.expect("a placeholder names a data set that is declared").file
                    }
                };
                let key = (file.to_owned(), column.clone(), *fit);
                if !self.columns.contains_key(&key) {
                    if !self.texts.contains_key(file) {
                        self.texts.insert(file.to_owned(), read(file).map_err(failed)?);
                    }
                    let found = fitted(file, &self.texts[file], column, *fit)?;
                    self.columns.insert(key.clone(), found);
                }
                *values = Arc::clone(&self.columns[&key]);
            }
            Piece::Secret { from, fit, value } => {
                let text = match from {
                    SecretFrom::Given => return Ok(()),
                    SecretFrom::Env(name) => env(name).map_err(failed)?,
                    SecretFrom::File(file) => {
                        let text = read(file).map_err(failed)?;
                        let line =
                            text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
                        line.unwrap_or(&text).to_owned()
                    }
                };
                if *fit == Fit::Header && text.bytes().any(is_forbidden) {
                    return Err(failed(
                        "it is used in a header and holds a line break or another control character"
                            .to_owned(),
                    ));
                }
                *value = Hidden::new(text);
            }
            _ => {}
        }
        Ok(())
    }
}

/// What no header can hold.
fn is_forbidden(b: u8) -> bool {
    b.is_ascii_control() && b != b'\t'
}

/// A column as it is written where it stands.
fn fitted(file: &str, text: &str, column: &str, fit: Fit) -> Result<Arc<[String]>, Error> {
    let found = data::column(file, text, column)?;
    if fit == Fit::Header && found.iter().any(|value| value.bytes().any(is_forbidden)) {
        let place = GivenAt::File { name: file.into(), text: text.into(), span: 0..0 };
        let message = format!(
            "column '{column}' is used in a header and holds a line break or another control character"
        );
        return Err(Error::at(&place, message));
    }
    let write = |value: String| {
        if matches!(fit, Fit::Raw | Fit::Header) {
            return value;
        }
        let mut written = Vec::with_capacity(value.len());
        fit.write(value.as_bytes(), &mut written);
        String::from_utf8(written).expect("what is escaped is ASCII")
    };
    Ok(found.into_iter().map(write).collect())
}
