use crate::error::Error;
use crate::{
    Arrivals, DataSet, Escaping, Load, Plan, RowOrder, RowSource, SecretSource, Stage, Task, TemplatePiece,
    data_set, secret::SecretValue,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::grouped;

/// Returns the text of a file or the value of a variable, or why it cannot.
type ReadText<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

impl Plan {
    /// Fills in every value that is not in the plan itself: from data files, secret files (`read` returns their text)
    /// and the environment (`env` returns a variable).
    ///
    /// Values are escaped for their place: in the path what no path can hold, in a form (by its content type) as a
    /// form field. Elsewhere they are sent as they are.
    ///
    /// # Errors
    /// If a value cannot be had or cannot stand in a header, a data file is malformed or lacks the column, or the
    /// load needs more rows than there are. No message contains a secret.
    pub fn bind(
        &mut self,
        mut read: impl FnMut(&str) -> Result<String, String>,
        mut env: impl FnMut(&str) -> Result<String, String>,
    ) -> Result<(), Error> {
        let sets = std::mem::take(&mut self.data);
        let mut cache = ColumnCache { sets: &sets, texts: BTreeMap::new(), columns: BTreeMap::new() };
        let mut result = Ok(());
        for template in self.templates_mut() {
            template.visit_mut(&mut |piece| {
                if result.is_ok() {
                    result = cache.fill(piece, &mut read, &mut env);
                }
            });
        }
        self.data = sets;
        result?;
        self.check_rows()
    }

    /// How many arrivals there is data for, if a data set can be used up: its rows with `order = "once"`. Known after
    /// [`Plan::bind`].
    pub fn arrivals_limit(&self) -> Option<u64> {
        self.smallest_data_set().map(|(_, rows)| rows)
    }

    /// The data set that is used up first, and its number of rows.
    fn smallest_data_set(&self) -> Option<(String, u64)> {
        let mut smallest: Option<(String, u64)> = None;
        self.visit(|piece| {
            if let TemplatePiece::Field { of: RowSource::Data(name), order: RowOrder::Once, values, .. } =
                piece
            {
                let rows = values.len() as u64;
                if smallest.as_ref().is_none_or(|(_, least)| rows < *least) {
                    smallest = Some((name.clone(), rows));
                }
            }
        });
        smallest
    }

    fn check_rows(&self) -> Result<(), Error> {
        let (Some((name, rows)), Some(arrivals)) = (self.smallest_data_set(), self.arrivals()) else {
            return Ok(());
        };
        if arrivals <= rows {
            return Ok(());
        }
        Err(Error::new(format!(
            "the load has {} arrivals, and the data set '{name}' {} rows, each for one of them: shorten the load, \
             or let it start again with order = \"cycle\"",
            grouped(arrivals),
            grouped(rows)
        )))
    }

    /// The load's number of arrivals, if the plan determines it.
    fn arrivals(&self) -> Option<u64> {
        match &self.task {
            Task::Run(Load::Open { stages, arrivals: Arrivals::Even }) => {
                Some(planned_arrivals(stages).round() as u64)
            }
            Task::Run(Load::Closed { requests, .. }) => *requests,
            _ => None,
        }
    }
}

/// Arrivals due in all stages.
pub(crate) fn planned_arrivals(stages: &[Stage]) -> f64 {
    stages.iter().map(|s| (s.from.0 + s.to.0) / 2.0 * s.duration.as_secs_f64()).sum()
}

/// What was read so far: each file once, and one copy of each column per escaping.
struct ColumnCache<'a> {
    sets: &'a [DataSet],
    texts: BTreeMap<String, String>,
    columns: BTreeMap<(String, String, Escaping), Arc<[String]>>,
}

impl ColumnCache<'_> {
    fn fill(
        &mut self,
        piece: &mut TemplatePiece,
        read: ReadText<'_>,
        env: ReadText<'_>,
    ) -> Result<(), Error> {
        let placeholder = piece.to_string();
        let failed = |why: String| Error::new(format!("{placeholder}: {why}"));
        match piece {
            TemplatePiece::Field { of, column, fit, values, .. } => {
                let file = match of {
                    RowSource::File(file) => file.as_str(),
                    RowSource::Data(name) => {
                        let set = self.sets.iter().find(|set| set.name == *name);
                        &set.expect("a placeholder names a data set that is declared").file
                    }
                };
                let key = (file.to_owned(), column.clone(), *fit);
                if !self.columns.contains_key(&key) {
                    if !self.texts.contains_key(file) {
                        self.texts.insert(file.to_owned(), read(file).map_err(failed)?);
                    }
                    let found = escaped_column(file, &self.texts[file], column, *fit)?;
                    self.columns.insert(key.clone(), found);
                }
                *values = Arc::clone(&self.columns[&key]);
            }
            TemplatePiece::Secret { from, fit, value } => {
                let text = match from {
                    SecretSource::Given => return Ok(()),
                    SecretSource::Env(name) => env(name).map_err(failed)?,
                    SecretSource::File(file) => {
                        let text = read(file).map_err(failed)?;
                        let line =
                            text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
                        line.unwrap_or(&text).to_owned()
                    }
                };
                if *fit == Escaping::Header && text.bytes().any(is_forbidden_in_header) {
                    return Err(failed(
                        "it is used in a header and holds a line break or another control character"
                            .to_owned(),
                    ));
                }
                *value = SecretValue::new(text);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether no header's value can hold it.
pub(crate) fn is_forbidden_in_header(b: u8) -> bool {
    b.is_ascii_control() && b != b'\t'
}

/// A column, escaped for its place.
fn escaped_column(file: &str, text: &str, column: &str, fit: Escaping) -> Result<Arc<[String]>, Error> {
    let values = data_set::read_column(file, text, column)?;
    if fit == Escaping::Header && values.iter().any(|value| value.bytes().any(is_forbidden_in_header)) {
        let message = format!(
            "column '{column}' is used in a header and holds a line break or another control character"
        );
        return Err(Error::in_file(file, text, 0..0, message));
    }
    let escape = |value: String| {
        if matches!(fit, Escaping::Raw | Escaping::Header) {
            return value;
        }
        let mut written = Vec::with_capacity(value.len());
        fit.write(value.as_bytes(), &mut written);
        String::from_utf8(written).expect("what is escaped is ASCII")
    };
    Ok(values.into_iter().map(escape).collect())
}
