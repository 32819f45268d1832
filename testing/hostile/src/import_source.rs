//! Importing requests from other formats.

use import::{HarOptions, ImportedPlan, OpenApiOptions};
use plan::{Draft, PlanCommand};

/// A curl command, a HAR recording or an OpenAPI description: the import is a valid plan, or
/// a note says that it is not.
pub fn import(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let har = HarOptions { include_assets: true, origin: None };
    let writes = OpenApiOptions { include_writes: true, base: Some("http://h:1/v1".to_owned()) };
    let all = [
        import::from_curl(text),
        import::from_har(text, &HarOptions::default()),
        import::from_har(text, &har),
        import::from_openapi(text, &OpenApiOptions::default()),
        import::from_openapi(text, &writes),
    ];
    all.iter().flatten().for_each(check_imported);
}

fn check_imported(imported: &ImportedPlan) {
    let ImportedPlan { plan, notes } = imported;
    let draft = Draft::from_toml("plan.toml", plan).unwrap_or_else(|e| panic!("{e}\n{plan}"));
    let warned = notes.iter().any(|note| note.contains("or the plan is refused"));
    let checked = draft.check(PlanCommand::Find, &mut |_| Ok(Vec::new()));
    assert!(checked.is_ok() || warned, "{}\n{plan}", checked.expect_err("it is not"));
}
