//! Readable function names.

use super::heap::FunctionNames;
use crate::runtime_names::RuntimeFunction;

/// Names a function: `handle (express/lib/router/layer.js)` of module `express`, `(anonymous) (app.js:12)`
/// of `app.js`, `emit (node:events)` of `node:events`.
pub fn function(called: &FunctionNames, script: Option<&str>, line: Option<u32>) -> RuntimeFunction {
    let script = script.map(|script| script.strip_prefix("file://").unwrap_or(script));
    let (module, place) = script.map_or_else(|| ("[eval]".to_owned(), "eval".to_owned()), module_and_place);
    let is_named = |name: &&String| !name.is_empty();
    let own = called.name.as_ref().filter(is_named).or(called.inferred.as_ref().filter(is_named));
    let name = match (own, line) {
        (Some(name), _) => format!("{name} ({place})"),
        // A script has many of these.
        (None, Some(line)) => format!("(anonymous) ({place}:{line})"),
        (None, None) => format!("(anonymous) ({place})"),
    };
    RuntimeFunction { module, name, file: script.map(str::to_owned), line }
}

/// The module of a script, and its path within that.
fn module_and_place(script: &str) -> (String, String) {
    if let Some(own) = script.strip_prefix("node:") {
        return (format!("node:{}", node_module(own)), script.to_owned());
    }
    if let Some((_, path)) = script.rsplit_once("/node_modules/") {
        let scope = path.starts_with('@').then(|| path.find('/')).flatten().map_or(0, |at| at + 1);
        let end = path[scope..].find('/').map_or(path.len(), |at| scope + at);
        return (path[..end].to_owned(), path.to_owned());
    }
    let mut parts = script.rsplit('/');
    let file = parts.next().unwrap_or(script);
    // Many folders have an index file: adds the folder.
    let folder = parts.next().filter(|folder| file.starts_with("index.") && !folder.is_empty());
    let place = folder.map_or(file.to_owned(), |folder| format!("{folder}/{file}"));
    (place.clone(), place)
}

/// A Node.js module by its public name: `internal/streams/writable` is of `streams`, `_http_server` of
/// `http`.
fn node_module(path: &str) -> &str {
    let path = path.strip_prefix("internal/").unwrap_or(path);
    let first = path.split('/').next().unwrap_or(path);
    match first.strip_prefix('_') {
        Some(private) => private.split('_').next().unwrap_or(private),
        None => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: Option<&str>, name: Option<&str>, line: Option<u32>, expected: (&str, &str)) {
        let called = FunctionNames { name: name.map(str::to_owned), ..FunctionNames::default() };
        let RuntimeFunction { module, name, .. } = function(&called, script, line);
        assert_eq!((module.as_str(), name.as_str()), expected, "{script:?}");
    }

    #[test]
    fn a_function_is_told_with_where_it_is_written() {
        for (script, expected) in [
            ("/srv/app/server.js", ("server.js", "f (server.js)")),
            ("file:///srv/app/main.mjs", ("main.mjs", "f (main.mjs)")),
            ("/srv/app/routes/index.js", ("routes/index.js", "f (routes/index.js)")),
            ("/srv/node_modules/express/lib/router/layer.js", ("express", "f (express/lib/router/layer.js)")),
            ("/a/node_modules/b/node_modules/@c/d/e.js", ("@c/d", "f (@c/d/e.js)")),
            ("/a/node_modules/b", ("b", "f (b)")),
            ("node:events", ("node:events", "f (node:events)")),
            ("node:internal/streams/writable", ("node:streams", "f (node:internal/streams/writable)")),
            ("node:_http_server", ("node:http", "f (node:_http_server)")),
            ("webpack://app/x.js", ("x.js", "f (x.js)")),
            ("", ("", "f ()")),
        ] {
            check(Some(script), Some("f"), Some(7), expected);
        }
        check(None, Some("f"), None, ("[eval]", "f (eval)"));
    }

    #[test]
    fn one_without_a_name_has_what_it_was_assigned_to_or_its_line() {
        check(Some("/a/app.js"), None, Some(7), ("app.js", "(anonymous) (app.js:7)"));
        check(Some("/a/app.js"), Some(""), None, ("app.js", "(anonymous) (app.js)"));
        let called = FunctionNames { inferred: Some("app.handle".to_owned()), ..FunctionNames::default() };
        assert_eq!(function(&called, Some("/a/app.js"), Some(7)).name, "app.handle (app.js)");
    }
}
