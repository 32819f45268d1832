//! One request: what is sent, and what its answer must be.

use super::answer::{header_name, is_token};
use crate::bind::is_forbidden_in_header;
use crate::draft::{Section, SourceText};
use crate::error::{Error, SourceLocation};
use crate::placeholder::NameScope;
use crate::secret::{hide, hide_basic, hide_header, is_secret_name};
use crate::url::{TargetUrl, parse_path};
use crate::{
    Escaping, Key, Payload, ReadFile, Request, RowSource, SecretSource, Statement, Target, Template,
    TemplatePiece, data_set, form,
};
use base64::prelude::{BASE64_STANDARD, Engine as _};

/// Keys that statements share with requests; the other keys of a request are for HTTP.
const SHARED_KEYS: [Key; 5] = [Key::Name, Key::Weight, Key::Think, Key::Sql, Key::Timeout];

/// Where a request stands: what applies to all requests, and the names known there.
pub(super) struct RequestContext<'a> {
    pub(super) address: &'a TargetUrl,
    /// `[target]`: headers and credentials of every request.
    pub(super) top: &'a Section,
    pub(super) names: NameScope<'a>,
    /// Whether it is a step of a `[[flow]]`.
    pub(super) is_step: bool,
}

impl Section {
    pub(super) fn payload(&self, context: &RequestContext<'_>, read: ReadFile<'_>) -> Result<Payload, Error> {
        let is_database = matches!(context.address.target, Target::Sql(_));
        let Some(sql) = self.one(Key::Sql) else {
            if is_database {
                let message =
                    "no statement for the database; expected sql = \"select 1\", or --sql 'select 1'";
                return Err(self.error_at(Key::Sql, message));
            }
            return Ok(Payload::Http(self.request(context, read)?));
        };
        if !is_database {
            return Err(sql.error("a statement needs a database: the target is no postgres:// URL"));
        }
        if let Some(key) = self.values.keys().copied().find(|key| !SHARED_KEYS.contains(key)) {
            let message =
                format!("a statement has no {}: that is for http:// and https:// targets", key.name());
            return Err(self.error_at(key, message));
        }
        let mut statement = Statement::parse(&sql.text, &context.names).map_err(|e| sql.error(e))?;
        statement.parameters.iter_mut().for_each(|parameter| parameter.resolve_paths(&sql.location));
        Ok(Payload::Sql(statement))
    }

    fn request(&self, context: &RequestContext<'_>, read: ReadFile<'_>) -> Result<Request, Error> {
        let names = &context.names;
        let (body, content_type) = self.body(names, read)?;
        let mut headers = self.headers(context)?;
        let has = |headers: &[(String, Template)], name: &str| {
            headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        if let Some(content_type) = content_type.filter(|_| !has(&headers, "content-type")) {
            headers.push(("Content-Type".to_owned(), Template::literal(content_type)));
        }
        if let Some(value) = self.credentials(context)? {
            headers.push(("Authorization".to_owned(), value));
        }
        let method = match self.one(Key::Method) {
            Some(given) => method(given)?,
            None if body.is_empty() => "GET".to_owned(),
            None => "POST".to_owned(),
        };
        let mut request = Request {
            method,
            path: self.path(context)?,
            headers,
            body,
            expect: self.statuses()?,
            checks: self.checks()?,
        };
        request.set_escaping();
        Ok(request)
    }

    fn path(&self, context: &RequestContext<'_>) -> Result<Template, Error> {
        let address = context.address;
        let Some(given) = self.one(Key::Path) else {
            if context.is_step {
                return Err(self.error_at(Key::Path, "a step without url; expected url = \"/path\""));
            }
            return Ok(address.path.clone());
        };
        let text = given.text.trim();
        // Only before a path, a query and a placeholder.
        let is_full = text.split(['/', '?', '#', '{']).next().is_some_and(|scheme| scheme.ends_with(':'));
        let mut path = if is_full {
            let full = TargetUrl::parse(text, &context.names).map_err(|e| given.error(e))?;
            let is_same = match (&full.target, &address.target) {
                (Target::Http(a), Target::Http(b)) => (a.tls, &a.host, a.port) == (b.tls, &b.host, b.port),
                _ => false,
            };
            if !is_same {
                let message = "this is not on the target, and a plan measures one target; write only the \
                               path, or the target's URL";
                return Err(given.error(message));
            }
            if full.basic.is_some() {
                return Err(given.error("user and password go in [target] url, or in basic"));
            }
            full.path
        } else {
            let path = parse_path(text, &context.names, text).map_err(|e| given.error(e))?;
            let begins = match path.pieces.first() {
                Some(TemplatePiece::Literal(text)) => text.starts_with(b"/"),
                Some(TemplatePiece::Taken { .. } | TemplatePiece::Field { .. }) => true,
                _ => false,
            };
            if !begins {
                let message = format!("'{text}' is neither a path nor a URL; expected it to begin with '/'");
                return Err(given.error(message));
            }
            path
        };
        path.resolve_paths(&given.location);
        Ok(path)
    }

    /// Those of `[target]` that are not overridden here, then those given here.
    fn headers(&self, context: &RequestContext<'_>) -> Result<Vec<(String, Template)>, Error> {
        let own_names: Vec<String> = self.all(Key::Headers).iter().map(SourceText::header_name).collect();
        let has_credentials = self.has(Key::Basic) || self.has(Key::Bearer);
        let is_left = |given: &&SourceText| {
            let name = given.header_name();
            let is_overridden = own_names.contains(&name) || has_credentials && name == "authorization";
            !given.is_option() && !is_overridden
        };
        let shared = context.top.all(Key::Headers).iter().filter(is_left);
        shared.chain(self.all(Key::Headers)).map(|given| header(given, &context.names)).collect()
    }

    /// The `Authorization` header, unless given as a header.
    fn credentials(&self, context: &RequestContext<'_>) -> Result<Option<Template>, Error> {
        if let Some(found) = self.own_credentials(&context.names, |_| true)? {
            return Ok(found);
        }
        // What the command line gives applies to every request already.
        if let Some(found) = context.top.own_credentials(&context.names, |given| !given.is_option())? {
            return Ok(found);
        }
        let basic = context.address.basic.clone();
        Ok(basic.map(|basic| basic_header(hide_basic(basic))))
    }

    /// None if nothing is given here; `Some(None)` if a header gives it.
    fn own_credentials(
        &self,
        names: &NameScope<'_>,
        applies: impl Fn(&SourceText) -> bool,
    ) -> Result<Option<Option<Template>>, Error> {
        let header = self
            .all(Key::Headers)
            .iter()
            .find(|given| applies(given) && given.header_name() == "authorization");
        let one = |key| self.one(key).filter(|given| applies(given));
        let (basic, bearer) = (one(Key::Basic), one(Key::Bearer));
        let given: Vec<&SourceText> = [header, basic, bearer].into_iter().flatten().collect();
        if let [_, second, ..] = given[..] {
            return Err(
                second.error("give one kind of credentials: basic, bearer, or an Authorization header")
            );
        }
        if let Some(given) = basic {
            if !given.text.contains(':') {
                return Err(given.error("expected user and password, \"user:{env:PASSWORD}\""));
            }
            let template = parse(given.text.as_bytes(), given, names)?;
            return Ok(Some(Some(basic_header(hide_basic(template)))));
        }
        if let Some(given) = bearer {
            if given.text.trim().is_empty() || given.text.bytes().any(|b| b.is_ascii_control()) {
                return Err(given.error("expected a token without line breaks, such as {env:TOKEN}"));
            }
            let mut value = Template::literal("Bearer ");
            value.append(hide(parse(given.text.trim().as_bytes(), given, names)?));
            return Ok(Some(Some(value)));
        }
        Ok(header.map(|_| None))
    }

    /// The body, and the content type that it implies.
    fn body(
        &self,
        names: &NameScope<'_>,
        read: ReadFile<'_>,
    ) -> Result<(Template, Option<&'static str>), Error> {
        let kinds = [Key::Body, Key::BodyFile, Key::BodyBase64, Key::Form];
        let given: Vec<_> = kinds.into_iter().filter_map(|key| Some((key, self.one(key)?))).collect();
        let (key, given) = match given[..] {
            [] => return Ok((Template::default(), None)),
            [one] => one,
            [_, (_, second), ..] => {
                return Err(second.error("a request has one body: give a body, a body file or a form"));
            }
        };
        let body = match key {
            Key::Body => parse(given.text.as_bytes(), given, names)?,
            Key::BodyFile => {
                let bytes = read(&data_set::resolve_path(&given.text, &given.location))
                    .map_err(|e| given.error(e))?;
                parse(&bytes, given, names)?
            }
            Key::BodyBase64 => {
                let bytes = BASE64_STANDARD.decode(given.text.trim());
                parse(&bytes.map_err(|e| given.error(format!("this is not base64: {e}")))?, given, names)?
            }
            _ => return Ok((self.form(names)?, Some(form::CONTENT_TYPE))),
        };
        Ok((body, None))
    }

    fn form(&self, names: &NameScope<'_>) -> Result<Template, Error> {
        let mut body = Template::default();
        for given in self.all(Key::Form) {
            let (name, value) =
                given.text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                    given.error(format!("'{}' is not a form field, name=value", given.text))
                })?;
            let mut field = form::field(name, value, names).map_err(|e| given.error(e.to_string()))?;
            field.resolve_paths(&given.location);
            if !body.is_empty() {
                body.append(Template::literal("&"));
            }
            body.append(field);
        }
        Ok(body)
    }
}

impl Request {
    /// Sets the escaping of each template by where it stands.
    pub(crate) fn set_escaping(&mut self) {
        self.path.set_escaping(Escaping::Path);
        if let Some(TemplatePiece::Taken { fit, .. } | TemplatePiece::Field { fit, .. }) =
            self.path.pieces.first_mut()
        {
            *fit = Escaping::Url;
        }
        let is_form = self.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("content-type") && value.to_string().starts_with(form::CONTENT_TYPE)
        });
        self.body.set_escaping(if is_form { Escaping::Form } else { Escaping::Raw });
        self.headers.iter_mut().for_each(|(_, value)| value.set_escaping(Escaping::Header));
    }
}

fn basic_header(basic: Template) -> Template {
    Template::from_pieces(vec![TemplatePiece::Literal(b"Basic ".to_vec()), TemplatePiece::Base64(basic)])
}

fn parse(text: &[u8], given: &SourceText, names: &NameScope<'_>) -> Result<Template, Error> {
    let mut template = Template::parse_with(text, names).map_err(|e| given.error(e.to_string()))?;
    template.resolve_paths(&given.location);
    Ok(template)
}

/// `Name: value`.
fn header(given: &SourceText, names: &NameScope<'_>) -> Result<(String, Template), Error> {
    let (name, value) = given.text.split_once(':').ok_or_else(|| {
        let name = given.text.split(' ').next().unwrap_or("");
        let shown = if is_secret_name(name) { name } else { &given.text };
        given.error(format!("'{shown}' is not a header, 'Name: value'"))
    })?;
    let (name, value) = (header_name(name, given)?, value.trim());
    if ["content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(given.error(format!("torment sets '{name}' itself, from the body: leave it out")));
    }
    if value.bytes().any(is_forbidden_in_header) {
        return Err(
            given.error(format!("the value of '{name}' holds a line break or another control character"))
        );
    }
    let value = parse(value.as_bytes(), given, names)?;
    Ok((name.to_owned(), hide_header(name, value)))
}

fn method(given: &SourceText) -> Result<String, Error> {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let method = given.text.trim();
    if let Some(known) = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(method)) {
        return Ok((*known).to_owned());
    }
    if !is_token(method) || method.eq_ignore_ascii_case("CONNECT") {
        return Err(given.error(format!("'{method}' is not a method such as {}", KNOWN.join(", "))));
    }
    Ok(method.to_owned())
}

impl Template {
    /// Files named in a plan file are looked up next to it.
    pub(crate) fn resolve_paths(&mut self, location: &SourceLocation) {
        self.visit_mut(&mut |piece| {
            if let TemplatePiece::Field { of: RowSource::File(file), .. }
            | TemplatePiece::Secret { from: SecretSource::File(file), .. } = piece
            {
                *file = data_set::resolve_path(file, location);
            }
        });
    }
}
