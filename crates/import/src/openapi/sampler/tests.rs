use super::*;
use serde_json::json;

fn check(schema: Value, expected: &str) {
    let root = json!({"openapi": "3.1.0", "components": {"schemas": {
        "Tree": {"type": "object", "required": ["left"], "properties": {
            "left": {"$ref": "#/components/schemas/Tree"}, "n": {"type": "integer"}}},
        "Knot": {"allOf": [{"$ref": "#/components/schemas/Knot"}, {"$ref": "#/components/schemas/Knot"}]},
        "a/b": {"const": "slash"},
    }}});
    let spec = Spec::new(&root).expect("it has a version");
    let mut secrets = Secrets::default();
    let mut sampler = Sampler::new(&spec, &mut secrets);
    let found = sampler.sample(&schema, "body").map_or("none".to_owned(), |sample| sample.json());
    assert_eq!(found, expected, "{schema} {:?}", sampler.notes);
}

#[test]
fn makes_values_that_fit() {
    for (schema, expected) in [
        (json!({"example": {"a": [1]}}), r#"{"a":[1]}"#),
        (json!({"type": "string", "examples": ["x"], "default": "y"}), r#""x""#),
        (json!({"enum": ["b", "a"]}), r#""b""#),
        (json!({"type": "integer"}), "{random:1..100}"),
        (json!({"type": "integer", "minimum": 200}), "{random:200..299}"),
        (json!({"type": "integer", "maximum": 50}), "{random:1..50}"),
        (json!({"type": "integer", "maximum": -5}), "{random:-104..-5}"),
        (json!({"type": "integer", "minimum": 3, "maximum": 3}), "3"),
        (json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true, "maximum": 9}), "{random:1..9}"),
        (json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}), "{random:1..9}"),
        // Bounds beyond the integer range; one more than the largest used to overflow.
        (json!({"type": "integer", "exclusiveMinimum": 1e300}), "9223372036854775807"),
        (json!({"type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": -1e300}), "6"),
        (json!({"type": "integer", "multipleOf": 10, "minimum": 11}), "20"),
        (json!({"type": "number", "minimum": 0.2, "maximum": 0.8}), "0.2"),
        (json!({"type": "integer", "minimum": i64::MAX}), "9223372036854775807"),
        (json!({"type": ["null", "boolean"]}), "true"),
        (json!({"type": "string", "format": "uuid"}), r#""{uuid}""#),
        (json!({"type": "string", "format": "email"}), r#""user{counter}@example.com""#),
        (json!({"type": "string", "minLength": 12}), r#""CHANGE_MExxx""#),
        (json!({"type": "string", "maxLength": 3}), r#""CHA""#),
        (json!({"type": "array", "items": {"type": "boolean"}}), "[true]"),
        (json!({"type": "array"}), "[]"),
        (json!({"properties": {"a": {"const": 1}, "b": {"const": 2, "readOnly": true}}}), r#"{"a":1}"#),
        (json!({"properties": {"password": {"type": "string"}}}), r#"{"password":"{env:PASSWORD}"}"#),
        (
            json!({"allOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}]}),
            r#"{"a":1,"b":2}"#,
        ),
        (json!({"anyOf": [{"type": "null"}, {"const": 4}]}), "4"),
        (json!({"$ref": "#/components/schemas/a~1b"}), r#""slash""#),
        (json!({"$ref": "#/components/schemas/Tree"}), r#"{"n":{random:1..100}}"#),
        (json!({"$ref": "#/components/schemas/Knot"}), "none"),
        (json!({"$ref": "#/nowhere"}), "none"),
        (json!({"$ref": "other.yaml#/x"}), "none"),
        (json!(true), r#""CHANGE_ME""#),
    ] {
        check(schema, expected);
    }
}

#[test]
fn what_is_large_is_cut() {
    let mut schema = json!({"const": 1});
    for _ in 0..4 {
        let members: Map<String, Value> = (0..10).map(|n| (format!("m{n}"), schema.clone())).collect();
        schema = json!({"type": "object", "properties": members});
    }
    let root = json!({"openapi": "3.0.0"});
    let spec = Spec::new(&root).expect("it has a version");
    let mut secrets = Secrets::default();
    let mut sampler = Sampler::new(&spec, &mut secrets);
    let text = sampler.sample(&schema, "body").expect("there is a value").json();
    assert!(text.len() < 10_000, "{}", text.len());
    assert!(sampler.notes.iter().any(|note| note.contains("beyond 500 values")), "{:?}", sampler.notes);
}
