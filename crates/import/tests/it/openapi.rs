//! Descriptions as people write them.

use crate::accepted::accepted;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use toml::{Table, Value};
use torment_import::{ImportedPlan, OpenApiOptions, from_openapi};

const YAML: &str = include_str!("../fixtures/petstore.yaml");
const JSON: &str = include_str!("../fixtures/petstore.json");

fn import(text: &str, options: &OpenApiOptions) -> (Table, ImportedPlan) {
    let imported = from_openapi(text, options).expect("it is a description");
    let table = imported.plan.parse().unwrap_or_else(|e| panic!("{e}\n{}", imported.plan));
    (table, imported)
}

fn request<'a>(table: &'a Table, name: &str) -> &'a Table {
    let requests = table["request"].as_array().expect("a list").iter().filter_map(Value::as_table);
    let named = |request: &&Table| request["name"].as_str() == Some(name);
    requests.clone().find(named).unwrap_or_else(|| panic!("no {name} in {requests:?}"))
}

fn headers(request: &Table) -> Vec<&str> {
    request.get("headers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn noted(imported: &ImportedPlan, what: &str) {
    assert!(imported.notes.iter().any(|note| note.contains(what)), "{what}: {:#?}", imported.notes);
    let comments = imported.plan.replace("\n# ", " ");
    assert!(comments.contains(what), "{what}\n{}", imported.plan);
}

#[test]
fn yaml_and_json_say_the_same() {
    let options = OpenApiOptions::default();
    assert_eq!(from_openapi(YAML, &options), from_openapi(JSON, &options));
}

#[test]
fn reading_operations_are_active_and_writing_ones_commented_out() {
    let (table, imported) = import(YAML, &OpenApiOptions::default());
    assert_eq!(table["target"]["url"].as_str(), Some("https://eu.petstore.example:8443/"));
    let names: Vec<&str> = table["request"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|request| request["name"].as_str())
        .collect();
    assert_eq!(names, ["findOwner", "listPets", "GET /pets/{petId}"]);
    assert_eq!(request(&table, "GET /pets/{petId}")["url"].as_str(), Some("/v1/pets/{random:1..500}"));
    let list = request(&table, "listPets");
    assert_eq!(list["url"].as_str(), Some("/v1/pets?limit={random:1..50}&tags=cat&tags=big%20dog"));
    assert_eq!(
        headers(list),
        ["X-Tenant: a", "Accept: application/json", "Authorization: Bearer {env:TOKEN}"]
    );
    assert_eq!(list["expect_status"].as_integer(), Some(200));
    assert_eq!(list["weight"].as_integer(), Some(1));
    assert_eq!(request(&table, "GET /pets/{petId}")["expect_status"].as_str(), Some("2xx"));
    assert!(headers(request(&table, "findOwner")).is_empty(), "it demands no security");
    for what in [
        "operations that change state are commented out, choose with care: login, createPet, deletePet, upload, other",
        "export TOKEN='…'",
        "the first of its servers is used; the others are: https://staging.petstore.example/v1",
        "path parameter name (which must match ^[a-z]+$), path parameter year, which is not described; CHANGE_ME",
        "optional parameters are left out: offset (query)",
        "its callbacks are not carried over",
        "the first of 2 alternatives is taken",
        "its body (multipart/form-data) is left out",
        "it has a server of its own, https://upload.example",
        "'bodies.yaml#/Photo' is in another file",
        "no '#/components/schemas/NewPet' inside another",
    ] {
        noted(&imported, what);
    }
}

#[test]
fn writing_operations_are_active_if_asked_for() {
    let (table, imported) =
        import(JSON, &OpenApiOptions { include_writes: true, ..OpenApiOptions::default() });
    let create = request(&table, "createPet");
    let body = create["body"].as_str().expect("text");
    let filled = body.replace("{random:0..29}", "3");
    let found: Json = serde_json::from_str(&filled).unwrap_or_else(|e| panic!("{e}: {body}"));
    let expected = json!({
        "name": "CHANGE", "age": 3, "id": "{uuid}", "weight": 0.5, "home": {"street": "Main Street"},
        "good": true, "mail": "user{counter}@example.com", "colours": ["black"],
    });
    assert_eq!(found, expected);
    assert_eq!(create["expect_status"], Value::Array(vec![201.into(), 202.into()]));
    assert!(headers(create).contains(&"Content-Type: application/json"));
    let delete = request(&table, "deletePet");
    assert_eq!(
        (delete["method"].as_str(), delete["url"].as_str()),
        (Some("DELETE"), Some("/v1/pets/{uuid}"))
    );
    assert!(headers(delete).contains(&"If-Match: \"v1\""));
    let login = request(&table, "login");
    assert_eq!(login["form"]["password"].as_str(), Some("{env:PASSWORD}"));
    assert!(!login.contains_key("expect_status"), "only 2xx are said");
    assert!(imported.plan.contains("# name = \"other\""), "it is on another server");
    assert!(!imported.notes.iter().any(|note| note.contains("choose with care")));
}

/// A description with one operation.
fn described(more: Json, operation: Json) -> String {
    let mut root = json!({"openapi": "3.1.0", "paths": {"/a/{x}": {"get": operation}}});
    for (key, value) in more.as_object().expect("an object") {
        root[key] = value.clone();
    }
    root.to_string()
}

#[test]
fn servers_tell_the_target() {
    for (servers, base, target, url, note) in [
        (json!([{"url": "http://h:81/api/"}]), None, "http://h:81/", "/api/a/CHANGE_ME", ""),
        (
            json!([{"url": "/api"}]),
            None,
            "http://127.0.0.1:8080/",
            "/api/a/CHANGE_ME",
            "give --base http://HOST:PORT/",
        ),
        (json!([]), None, "http://127.0.0.1:8080/", "/a/CHANGE_ME", "give --base"),
        (
            json!([{"url": "ftp://h/"}]),
            None,
            "http://127.0.0.1:8080/",
            "/a/CHANGE_ME",
            "cannot be the target",
        ),
        (
            json!([{"url": "http://{h}/"}]),
            None,
            "http://127.0.0.1:8080/",
            "/a/CHANGE_ME",
            "cannot be the target",
        ),
        (
            json!([{"url": "http://h/v1"}]),
            Some("https://other:8443/v2/"),
            "https://other:8443/",
            "/v2/a/CHANGE_ME",
            "",
        ),
    ] {
        let text = described(json!({"servers": servers}), json!({}));
        let options = OpenApiOptions { base: base.map(str::to_owned), ..OpenApiOptions::default() };
        let (table, imported) = import(&text, &options);
        assert_eq!(table["target"]["url"].as_str(), Some(target), "{servers}");
        assert_eq!(table["request"]["url"].as_str(), Some(url), "{servers}");
        if !note.is_empty() {
            noted(&imported, note);
        }
    }
}

#[test]
fn parameters_are_written_by_their_style() {
    for (parameter, url) in [
        (json!({"in": "path", "schema": {"const": "a b/c"}}), "/a/a%20b%2Fc"),
        (json!({"in": "path", "example": [1, 2]}), "/a/1,2"),
        (json!({"in": "path", "example": "{uuid}"}), "/a/%7Buuid%7D"),
        (json!({"in": "path", "examples": {"one": {"value": 7}}}), "/a/7"),
        (json!({"in": "path", "schema": {"type": "string", "format": "uuid"}}), "/a/{uuid}"),
        (json!({"in": "query", "example": ["a", "b"], "explode": false}), "/a/CHANGE_ME?x=a,b"),
        (json!({"in": "query", "example": ["a", "b"], "style": "pipeDelimited"}), "/a/CHANGE_ME?x=a%7Cb"),
        (json!({"in": "query", "example": {"k": "v"}, "style": "deepObject"}), "/a/CHANGE_ME?x[k]=v"),
        (json!({"in": "query", "example": {"k": "v"}}), "/a/CHANGE_ME?k=v"),
        (
            json!({"in": "query", "content": {"application/json": {"example": {"k": 1}}}}),
            "/a/CHANGE_ME?x=%7B%22k%22%3A1%7D",
        ),
    ] {
        let mut parameter = parameter;
        parameter["name"] = "x".into();
        parameter["required"] = true.into();
        let (table, _) =
            import(&described(json!({}), json!({"parameters": [parameter]})), &OpenApiOptions::default());
        assert_eq!(table["request"]["url"].as_str(), Some(url), "{parameter}");
    }
}

#[test]
fn security_becomes_secrets_of_the_environment() {
    for (scheme, place, expected, note) in [
        (json!({"type": "http", "scheme": "basic"}), "basic", "CHANGE_ME:{env:PASSWORD}", "export PASSWORD"),
        (json!({"type": "http", "scheme": "Bearer"}), "bearer", "{env:TOKEN}", "export TOKEN"),
        (json!({"type": "oauth2", "flows": {}}), "bearer", "{env:TOKEN}", "export TOKEN"),
        (
            json!({"type": "apiKey", "in": "header", "name": "X-Key"}),
            "header",
            "X-Key: {env:X_KEY}",
            "export X_KEY",
        ),
        (
            json!({"type": "apiKey", "in": "cookie", "name": "sid"}),
            "header",
            "Cookie: sid={env:SID}",
            "export SID",
        ),
        (
            json!({"type": "apiKey", "in": "query", "name": "key"}),
            "url",
            "/a/CHANGE_ME?key={env:KEY}",
            "export KEY",
        ),
        (
            json!({"type": "http", "scheme": "digest"}),
            "",
            "",
            "knows basic and bearer authorization, not 'digest'",
        ),
        (json!({"type": "mutualTLS"}), "", "", "no certificate of its own"),
    ] {
        let more = json!({"components": {"securitySchemes": {"s": scheme}}, "security": [{"s": []}, {}]});
        let (table, imported) = import(&described(more, json!({})), &OpenApiOptions::default());
        let request = table["request"].as_table().expect("one");
        match place {
            "" => assert!(headers(request).is_empty()),
            "header" => assert_eq!(headers(request), [expected]),
            "url" => assert_eq!(request["url"].as_str(), Some(expected)),
            key => assert_eq!(table["target"][key].as_str(), Some(expected)),
        }
        noted(&imported, note);
    }
}

#[test]
fn bodies_are_taken_from_what_is_described() {
    for (content, key, expected) in [
        (json!({"application/json": {"example": "{\"a\": 1}"}}), "body", "{\"a\": 1}"),
        (json!({"application/vnd.x+json": {"schema": {"const": 1}}}), "body", "1"),
        (json!({"text/plain": {"schema": {"const": "hello"}}}), "body", "hello"),
        (json!({"application/xml": {"example": "<a/>"}}), "body", "<a/>"),
        (json!({"application/xml": {"schema": {"type": "object"}}}), "", "there is no example"),
        (json!({"application/x-www-form-urlencoded": {"schema": {"const": 1}}}), "", "not made of fields"),
        (json!({}), "", "no content is described"),
    ] {
        let text = described(json!({}), json!({"requestBody": {"content": content}}));
        let (table, imported) = import(&text, &OpenApiOptions::default());
        match key {
            "" => noted(&imported, expected),
            key => assert_eq!(table["request"][key].as_str(), Some(expected), "{content}"),
        }
    }
}

#[test]
fn refuses_with_advice() {
    for (text, advice) in [
        ("", "it has no 'openapi"),
        ("- a\n- b\n", "it has no 'openapi"),
        ("{\"openapi\": ", "line 1 column"),
        ("a: b: c", "line 1 column 5"),
        ("swagger: '2.0'", "this is Swagger 2"),
        ("openapi: 2.0.0", "this is OpenAPI 2.0.0"),
        ("openapi: 3.0\ninfo: {}\n", "has no operation"),
        ("a: &a [*a]", "expected an OpenAPI 3 description"),
    ] {
        let error = from_openapi(text, &OpenApiOptions::default()).expect_err(text).to_string();
        assert!(error.contains(advice), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        bomb += &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", "));
    }
    from_openapi(&bomb, &OpenApiOptions::default()).expect_err("ten to the twelfth");
    let base = OpenApiOptions { base: Some("ftp://h/".to_owned()), ..OpenApiOptions::default() };
    from_openapi(YAML, &base).expect_err("no such target");
}

/// Any JSON, biased towards the words of a description.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<bool>().prop_map(Json::from),
        Just(Json::Null),
        prop::sample::select(vec![
            "object", "integer", "string", "array", "query", "path", "{uuid}", "2XX", "http"
        ])
        .prop_map(Json::from),
        prop::sample::select(vec!["#/components/schemas/NewPet", "#/paths", "#/components", "x.yaml"])
            .prop_map(|reference| json!({"$ref": reference})),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let key = prop_oneof![
            any::<String>(),
            prop::sample::select(vec![
                "type",
                "properties",
                "items",
                "allOf",
                "oneOf",
                "enum",
                "example",
                "name",
                "in"
            ])
            .prop_map(str::to_owned),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(key, inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

/// The JSON pointer of every place in a document.
fn pointers(value: &Json, at: String, out: &mut Vec<String>) {
    match value {
        Json::Object(members) => {
            for (name, value) in members {
                pointers(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Json::Array(items) => {
            for (n, value) in items.iter().enumerate() {
                pointers(value, format!("{at}/{n}"), out);
            }
        }
        _ => {}
    }
    out.push(at);
}

proptest! {
    /// Any description gives a plan, or an error that says why not.
    #[test]
    fn a_mutilated_description_is_no_danger(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 1..6),
        include_writes: bool,
    ) {
        let mut root: Json = serde_json::from_str(JSON).expect("the fixture is JSON");
        for (place, value) in changes {
            let mut places = Vec::new();
            pointers(&root, String::new(), &mut places);
            places.pop();
            if let Some(slot) = root.pointer_mut(place.get::<String>(&places)) {
                *slot = value;
            }
        }
        if let Ok(imported) = from_openapi(&root.to_string(), &OpenApiOptions { include_writes, base: None }) {
            let table: Result<Table, _> = imported.plan.parse();
            prop_assert!(table.is_ok(), "{:?}\n{}", table, imported.plan);
            accepted(&imported)?;
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in ".*") {
        let _ = from_openapi(&text, &OpenApiOptions::default());
    }
}
