//! Plan files.

use plan::{Draft, Load, Plan, PlanCommand, RenderContext, Task};
use schedule::Schedule;

/// Content of every file that a plan names.
const FILE: &str = "id,name\n1,\"a b\"\n2,ü\n";
/// Arrivals checked.
const SOME: usize = 20;

/// A plan's text, for every command: a valid plan is written and read again unchanged, and can be
/// executed.
pub fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for command in [PlanCommand::Run, PlanCommand::Find, PlanCommand::Try] {
        let draft = Draft::from_toml("plan.toml", text);
        let read = &mut |_: &str| Ok(FILE.as_bytes().to_vec());
        match draft.and_then(|draft| draft.check(command, read)) {
            Ok(plan) => check_round_trip(plan),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn check_round_trip(mut plan: Plan) {
    assert!(!plan.describe().is_empty() && !plan.url().is_empty());
    let written = plan.to_toml();
    // A secret in a plan is not printed.
    if !written.contains("{redacted}") {
        let again = Plan::from_toml(&written, plan.command());
        let again = again.unwrap_or_else(|e| panic!("{e}\n{written}"));
        assert_eq!(again, plan, "{written}");
    }
    if let Task::Run(Load::Open { stages, arrivals }) = &plan.task {
        let schedule = Schedule::new(stages, *arrivals, plan.generator.seed);
        let due: Vec<_> = schedule.arrivals(0, 1).take(SOME).map(|arrival| arrival.due).collect();
        assert!(due.is_sorted() && due.iter().all(|due| *due <= schedule.duration()), "{due:?}");
    }
    let bound = plan.bind(|_| Ok(FILE.to_owned()), |_| Ok("a value".to_owned()));
    if bound.is_ok() {
        let _ = (plan.redactor(), plan.arrivals_limit());
        for number in [0, 1, u64::MAX] {
            render(
                &plan,
                &RenderContext { number, seed: plan.generator.seed, extracted: &[b"\"\xff{}".to_vec()] },
            );
        }
    }
}

fn render(plan: &Plan, context: &RenderContext<'_>) {
    let mut out = Vec::new();
    for step in plan.flows.iter().flat_map(|flow| &flow.steps) {
        match &step.ask {
            plan::Payload::Http(request) => {
                request.render_path(context, &mut out);
                request.render_body(context, &mut out);
                (0..request.headers.len()).for_each(|index| request.render_header(index, context, &mut out));
            }
            plan::Payload::Sql(statement) => (0..statement.parameters.len())
                .for_each(|index| statement.render_parameter(index, context, &mut out)),
        }
    }
}
