//! torment parses the written plan, and with the same meaning.

use crate::accepted::accepted;
use plan::{Draft, Plan, PlanCommand};
use proptest::prelude::*;
use torment_import::{HarOptions, ImportedPlan, OpenApiOptions, from_curl, from_har, from_openapi};

fn checked(imported: &ImportedPlan) -> Plan {
    let draft =
        Draft::from_toml("p.toml", &imported.plan).unwrap_or_else(|e| panic!("{e}\n{}", imported.plan));
    let mut read = |name: &str| match name {
        "body.txt" => Ok(b"read".to_vec()),
        _ => Err(format!("{name} is not there")),
    };
    draft.check(PlanCommand::Find, &mut read).unwrap_or_else(|e| panic!("{e}\n{}", imported.plan))
}

#[test]
fn curl_commands_are_plans() {
    for (command, flows) in [
        ("curl http://h/", 1),
        ("curl -k --http2 --unix-socket /run/a.sock -m 2.5 -u me:pw https://h/", 1),
        ("curl --oauth2-bearer t http://h:81/a http://h:81/b -d x=y", 2),
        ("curl -X PUT -T body.txt http://h/f -H 'X-Empty;' -A me", 1),
        ("curl -d '{\"a\": {}}' -H 'Content-Type: application/json' 'http://h/[1-20]?a b'", 1),
        ("curl -d 'a=1&a=2' -b 'sid=1' http://h/", 1),
        ("curl -d 'user=anna&password=x' http://h/ http://other/", 1),
        ("curl -F 'a=b' http://h/", 1),
        ("curl --data-binary $'\\xff\\x00' http://h/", 1),
        ("curl -u a:b http://h/ --next --oauth2-bearer c http://h/", 2),
        ("curl -I http://h/ --next -XOPTIONS http://h/ -: -d '' http://h/", 3),
    ] {
        let imported = from_curl(command).unwrap_or_else(|e| panic!("{command}: {e}"));
        assert_eq!(checked(&imported).flows.len(), flows, "{command}\n{}", imported.plan);
    }
}

#[test]
fn a_recording_is_a_plan() {
    let options = HarOptions { include_assets: true, origin: None };
    let imported = from_har(include_str!("../fixtures/shop.har"), &options).expect("it is a recording");
    let plan = checked(&imported);
    let [flow] = plan.flows.as_slice() else { panic!("one flow") };
    assert!(flow.cookies);
    assert_eq!((flow.steps.len(), flow.takes()), (6, 4));
}

#[test]
fn descriptions_are_plans() {
    for include_writes in [false, true] {
        let options = OpenApiOptions { include_writes, base: None };
        let imported =
            from_openapi(include_str!("../fixtures/petstore.yaml"), &options).expect("it is a description");
        assert_eq!(checked(&imported).flows.len(), if include_writes { 7 } else { 3 });
    }
}

/// Found by the fuzzer `import`: a user's name was not checked.
#[test]
fn a_user_that_looks_like_a_placeholder_is_noted() {
    for (user, says) in [
        ("{env:PW", "the user with the password holds what looks like a placeholder but is not"),
        ("{uuid}:x", "the user with the password holds '{uuid}', which torment takes for a placeholder"),
    ] {
        let imported = from_curl(&format!("curl -u '{user}' http://h/")).expect("it is a command");
        assert!(imported.notes.iter().any(|note| note.contains(says)), "{:?}", imported.notes);
        accepted(&imported).expect(user);
    }
}

/// What people, and machines, put after `curl`.
fn argument() -> impl Strategy<Value = String> {
    let option = prop::sample::select(vec![
        "-X",
        "-H",
        "-d",
        "--data-raw",
        "--data-binary",
        "--data-urlencode",
        "--json",
        "-F",
        "-u",
        "-b",
        "-A",
        "-e",
        "-m",
        "-I",
        "-G",
        "-k",
        "-L",
        "--next",
        "-T",
        "--url-query",
        "--unix-socket",
        "--oauth2-bearer",
        "--compressed",
        "--http2",
        "-sS",
        "--no-such",
        "--form-string",
        "-r",
        "-x",
        "http://h/",
        "http://i/a?b=c",
    ]);
    prop_oneof![
        3 => option.prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[ -~\\n\\r\\t]{0,30}",
        1 => "[a-zA-Z-]{1,8}: .{0,20}",
        1 => "[a-z]{1,5}=[ -~]{0,9}(&[a-z]{1,5}=[ -~]{0,9}){0,3}",
        1 => "http://[a-z]{1,3}(:[0-9]{1,4})?/.{0,20}",
        1 => "[\"'{}#\\[\\]=\\n\\\\.0-9a-z:$]{0,20}",
    ]
}

proptest! {
    /// torment accepts the plan of any curl command, or a note says that it will not.
    #[test]
    fn whatever_curl_is_told_the_plan_is_one(arguments in prop::collection::vec(argument(), 0..12)) {
        let quoted = |text: &String| format!("'{}'", text.replace('\'', r"'\''"));
        let words: Vec<String> = arguments.iter().map(quoted).collect();
        if let Ok(imported) = from_curl(&format!("curl http://h/ {}", words.join(" "))) {
            accepted(&imported)?;
        }
    }
}
