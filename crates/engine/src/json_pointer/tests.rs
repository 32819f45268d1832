use super::*;
use proptest::prelude::*;
use serde_json::Value;

fn look(text: &str, pointers: &[&str]) -> Vec<Option<String>> {
    let mut wanted = PointerTree::default();
    let numbers: Vec<_> = pointers.iter().map(|p| wanted.add(p).expect(p)).collect();
    let found = wanted.find(text).expect(text);
    let shown = |number: usize| {
        let mut out = Vec::new();
        write_value(found[number]?, &mut out).expect(text);
        Some(String::from_utf8(out).expect("JSON is UTF-8"))
    };
    numbers.into_iter().map(shown).collect()
}

/// The example of RFC 6901, section 5.
#[test]
fn pointers_mean_what_the_standard_says() {
    let text = r#"{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
        "k\"l": 6, " ": 7, "m~n": 8}"#;
    let pointers = ["/foo", "/foo/0", "/", "/a~1b", "/c%d", "/e^f", "/g|h", "/i\\j", "/k\"l", "/ ", "/m~0n"];
    let values = [r#"["bar","baz"]"#, "bar", "0", "1", "2", "3", "4", "5", "6", "7", "8"];
    assert_eq!(look(text, &pointers), values.map(|v| Some(v.to_owned())));
    for pointer in pointers {
        assert_eq!(look(text, &[pointer]).len(), 1);
    }
    assert_eq!(look(" [1 , \"a  b\\\"  c\"] ", &[""]), [Some("[1,\"a  b\\\"  c\"]".to_owned())]);
}

#[test]
fn values_are_written_as_users_mean_them() {
    for (text, expected) in [
        (r#"{"v": "plain"}"#, Some("plain")),
        (r#"{"v": "with \"quotes\" and \u00fc"}"#, Some("with \"quotes\" and ü")),
        (r#"{"v": ""}"#, Some("")),
        (r#"{"v": 1.50}"#, Some("1.50")),
        (r#"{"v": 123456789012345678901234567890}"#, Some("123456789012345678901234567890")),
        (r#"{"v": true}"#, Some("true")),
        (r#"{"v": null}"#, Some("null")),
        (r#"{"v": {"b": [1, {}],  "a": "x y"}}"#, Some(r#"{"b":[1,{}],"a":"x y"}"#)),
        (r#"{"w": {"v": 1}}"#, None),
        (r#"{"\u0076": 1}"#, Some("1")),
        ("[1, 2]", None),
        ("7", None),
        ("\"v\"", None),
    ] {
        assert_eq!(look(text, &["/v"]), [expected.map(str::to_owned)], "{text}");
    }
    assert_eq!(look("[[1, 2], [3]]", &["/1/0", "/0", "/01", "/-", "/0/1", "/5"])[0].as_deref(), Some("3"));
}

#[test]
fn what_is_wrong_is_said() {
    for (pointer, why) in [
        ("token", "must begin with /, as /token"),
        ("$.token", "must begin with /"),
        ("/a~2", "~ stands only in"),
        ("/a~", "~ stands only in"),
        ("/~ü", "~ stands only in"),
    ] {
        let error = PointerTree::default().add(pointer).expect_err(pointer);
        assert!(error.contains(why), "{pointer}: {error}");
    }
    assert!(PointerTree::default().add(&"/a".repeat(101)).is_err());
    let mut wanted = PointerTree::default();
    wanted.add("/a").expect("a pointer");
    for text in ["", "{", "<html>", "{\"a\": 1} x", "{\"a\": }", "{\"a\": 1,}", "{\"a\" 1}"] {
        assert!(wanted.find(text).is_err(), "{text}");
    }
    let found = wanted.find(r#"{"a": "\ud800"}"#).expect("a string");
    assert!(write_value(found[0].expect("there"), &mut Vec::new()).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map("[a-c/~0-2\"]{0,2}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// The same results as serde_json, which builds the whole tree.
    #[test]
    fn finds_what_a_whole_tree_has(
        json in any_json(),
        pointers in proptest::collection::vec("(/([a-c\"0-2]|~0|~1){0,2}){0,3}", 1..6),
        pretty in any::<bool>(),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) };
        let names: Vec<&str> = pointers.iter().map(String::as_str).collect();
        let found = look(&text.expect("serialises"), &names);
        for (pointer, found) in names.iter().zip(found) {
            let truth = json.pointer(pointer).map(|value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            prop_assert_eq!(found, truth, "{}", pointer);
        }
    }

    #[test]
    fn garbage_never_panics(text in any::<String>(), pointer in any::<String>()) {
        let mut wanted = PointerTree::default();
        wanted.add("/a/0").expect("a pointer");
        wanted.add("/a").expect("a pointer");
        let _ = wanted.add(&pointer);
        let _ = wanted.find(&text);
    }

    #[test]
    fn broken_json_never_panics(json in any_json(), at in any::<prop::sample::Index>(), with in "[\\[\\]{}\",:a0\\\\]") {
        let mut text = json.to_string();
        let at = at.index(text.len());
        if text.is_char_boundary(at) {
            text.insert_str(at, &with);
        }
        let mut wanted = PointerTree::default();
        for pointer in ["", "/a", "/a/0", "/0"] {
            wanted.add(pointer).expect("a pointer");
        }
        for value in wanted.find(&text).unwrap_or_default().into_iter().flatten() {
            let _ = write_value(value, &mut Vec::new());
        }
    }
}
