//! What is written is a plan that torment reads and means the same by.

use plan::{Command, Draft, Plan};
use torment_import::{HarOptions, Imported, OpenApiOptions, from_curl, from_har, from_openapi};

fn checked(imported: &Imported) -> Plan {
    let draft =
        Draft::from_toml("p.toml", &imported.plan).unwrap_or_else(|e| panic!("{e}\n{}", imported.plan));
    let mut read = |name: &str| match name {
        "body.txt" => Ok(b"read".to_vec()),
        _ => Err(format!("{name} is not there")),
    };
    draft.check(Command::Find, &mut read).unwrap_or_else(|e| panic!("{e}\n{}", imported.plan))
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
    let imported = from_har(include_str!("fixtures/shop.har"), &options).expect("it is a recording");
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
            from_openapi(include_str!("fixtures/petstore.yaml"), &options).expect("it is a description");
        assert_eq!(checked(&imported).flows.len(), if include_writes { 7 } else { 3 });
    }
}
