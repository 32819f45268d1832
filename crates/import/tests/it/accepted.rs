use plan::{Draft, PlanCommand};
use proptest::test_runner::TestCaseError;
use torment_import::ImportedPlan;

/// torment accepts the plan, or a note says that it will not.
pub fn accepted(imported: &ImportedPlan) -> Result<(), TestCaseError> {
    let fail = |e: plan::Error| TestCaseError::fail(format!("{e}\n{}", imported.plan));
    let draft = Draft::from_toml("p.toml", &imported.plan).map_err(fail)?;
    let warned = imported.notes.iter().any(|note| note.contains("or the plan is refused"));
    match draft.check(PlanCommand::Find, &mut |_| Ok(Vec::new())) {
        Err(e) if !warned => Err(fail(e)),
        _ => Ok(()),
    }
}
