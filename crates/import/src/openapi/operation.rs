//! One operation, one request.

use super::body::{self, is_json};
use super::sampler::{Sampler, UNKNOWN};
use super::server::Server;
use super::spec::Spec;
use super::{parameters, security};
use crate::OpenApiOptions;
use crate::document::{Document, Request};
use crate::encode;
use serde_json::{Map, Value};

/// The order in which a path's operations are written.
const METHODS: [&str; 8] = ["get", "head", "options", "trace", "post", "put", "patch", "delete"];

/// What all operations share.
pub(super) struct OperationImporter<'a, 's> {
    pub spec: &'s Spec<'a>,
    pub server: Server,
    pub options: &'s OpenApiOptions,
    pub document: Document,
}

impl<'a> OperationImporter<'a, '_> {
    pub(super) fn add_paths(&mut self) {
        for (path, item) in self.spec.root["paths"].as_object().into_iter().flatten() {
            match self.spec.resolve(item) {
                Ok(item) => {
                    for method in METHODS {
                        if item[method].is_object() {
                            self.add_operation(path, item, method);
                        }
                    }
                }
                Err(why) => self.document.notes.push(format!("the path {path} is left out: {why}")),
            }
        }
    }

    fn add_operation(&mut self, path: &str, item: &'a Value, method: &str) {
        let operation = &item[method];
        let mut request = Request { method: method.to_ascii_uppercase(), ..Request::default() };
        let own = operation["operationId"].as_str().map(str::to_owned);
        request.name = own.unwrap_or_else(|| format!("{} {path}", request.method));
        request.comments.extend(operation["summary"].as_str().map(str::to_owned));
        if operation["deprecated"] == true {
            request.comments.push("Deprecated.".to_owned());
        }
        if !self.options.include_writes && matches!(method, "post" | "put" | "patch" | "delete") {
            request.disabled = true;
            request.comments.push("Changes state: commented out.".to_owned());
        }
        let prefix = self.prefix(item, operation, &mut request);
        request.url = path_template(&format!("{prefix}/{}", path.trim_start_matches('/')));

        let mut notes = Vec::new();
        let parameters = parameters::collect(self.spec, item, operation, &mut notes);
        let mut sampler = Sampler::new(self.spec, &mut self.document.secrets);
        parameters::add_parameters(&parameters, &mut sampler, &mut request);
        body::add_body(self.spec, operation, &mut sampler, &mut request);
        notes.extend(std::mem::take(&mut sampler.notes));
        let unknown = std::mem::take(&mut sampler.unknown);
        self.document.placeholders.append(&mut sampler.placeholders);
        if !unknown.is_empty() {
            notes.push(format!("no value is known for: {}; {UNKNOWN} stands in for it", unknown.join(", ")));
        }
        if operation["callbacks"].is_object() {
            notes.push("its callbacks are not carried over, since torment answers no requests".to_owned());
        }
        request.notes.append(&mut notes);
        security::add_security(self.spec, operation, &mut self.document.secrets, &mut request);
        self.add_expectations(operation, &mut request);
        self.document.requests.push(request);
    }

    /// The path's prefix: of the operation's server, the path's, or the description's.
    fn prefix(&self, item: &Value, operation: &Value, request: &mut Request) -> String {
        let own = [operation, item].into_iter().find_map(|holder| self.server.own(&holder["servers"]));
        // A base that was given overrides the description's servers.
        match own.filter(|_| self.options.base.is_none()) {
            None => self.server.prefix.clone(),
            Some(Ok(server)) => {
                if server.origin != self.server.origin {
                    request.disabled = true;
                    request.note(format!(
                        "it has a server of its own, {}, and a plan has one target: it is commented out",
                        server.origin
                    ));
                }
                server.prefix
            }
            Some(Err(why)) => {
                request.note(format!("its own server is not used: {why}"));
                self.server.prefix.clone()
            }
        }
    }

    /// Sets the statuses documented as success, and the media type expected then.
    fn add_expectations(&self, operation: &Value, request: &mut Request) {
        let mut types: Vec<&str> = Vec::new();
        for (status, response) in operation["responses"].as_object().into_iter().flatten() {
            let status = status.to_ascii_lowercase();
            let digits = status.len() == 3 && status.starts_with('2');
            if !digits || !(status[1..].bytes().all(|b| b.is_ascii_digit()) || status == "2xx") {
                continue;
            }
            request.expect_status.push(status);
            match self.spec.resolve(response) {
                Ok(response) => {
                    if response["links"].is_object() {
                        request.note("the links of its answer are not carried over: write a [[flow]] that takes values");
                    }
                    types.extend(
                        response["content"].as_object().into_iter().flat_map(Map::keys).map(String::as_str),
                    );
                }
                Err(why) => request.note(format!("one of its answers is not read: {why}")),
            }
        }
        let best = types.iter().find(|media| is_json(media)).or(types.first());
        if let Some(best) = best.filter(|media| media.bytes().all(|b| b.is_ascii_graphic() || b == b' ')) {
            request.headers.push(("Accept".to_owned(), (*best).to_owned()));
        }
    }
}

/// Escapes what no path can hold, and drops a fragment, which distinguishes operations in some descriptions and is
/// never sent.
fn path_template(path: &str) -> String {
    encode::visible(path.split('#').next().unwrap_or_default().as_bytes())
}
