use crate::error::{Error, Place};
use crate::{Piece, Plan, Request, Step, csv, form};
use std::collections::BTreeMap;

impl Plan {
    /// Fills in the values of every `{file:names.csv:column}`. `read` gives the text of a file, or why not.
    ///
    /// Values are escaped for where they stand: in the path what no path can hold, in a form
    /// (by its content type) as a form field. Elsewhere they are sent as they are.
    ///
    /// # Errors
    /// If a file cannot be read, is no CSV, lacks the column, or holds a value that no header can.
    pub fn bind(&mut self, mut read: impl FnMut(&str) -> Result<String, String>) -> Result<(), Error> {
        let mut texts = BTreeMap::new();
        let requests = self.flows.iter_mut().flat_map(|flow| &mut flow.steps).filter_map(Step::request_mut);
        for request in requests {
            bind_request(request, &mut texts, &mut read)?;
        }
        Ok(())
    }
}

fn bind_request(
    request: &mut Request,
    texts: &mut BTreeMap<String, String>,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<(), Error> {
    let is_form = request.headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("content-type") && value.to_string().starts_with(form::CONTENT_TYPE)
    });
    let mut bind = |piece: &mut Piece, fit: &dyn Fn(String) -> Result<String, &'static str>| {
        let Piece::Column { file, column, values } = piece else { return Ok(()) };
        if !texts.contains_key(file) {
            let text = read(file).map_err(|e| Error::whole(format!("{{file:{file}:{column}}}: {e}")))?;
            texts.insert(file.clone(), text);
        }
        let text = &texts[file];
        let found = csv::column(file, text, column)?;
        *values = found.into_iter().map(fit).collect::<Result<_, _>>().map_err(|e| {
            let place = Place::File { name: file.as_str().into(), text: text.as_str().into(), span: 0..0 };
            Error::at(&place, format!("column '{column}' {e}"))
        })?;
        Ok(())
    };
    for piece in &mut request.path.pieces {
        bind(piece, &|value| Ok(form::encode_path(value.as_bytes())))?;
    }
    for piece in request.headers.iter_mut().flat_map(|(_, value)| &mut value.pieces) {
        bind(piece, &|value| match value.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
            true => Err("is used in a header and holds a line end or another control character"),
            false => Ok(value),
        })?;
    }
    for piece in &mut request.body.pieces {
        bind(piece, &|value| Ok(if is_form { form::encode(value.as_bytes()) } else { value }))?;
    }
    Ok(())
}
