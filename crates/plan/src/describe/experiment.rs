use super::{labelled_lines, pluralized};
use crate::{Dependency, ExperimentPlan, Hypothesis, LoadLevel, ResetMethod, ResourceLimits, Setup};
use units::Nanos;

/// One line for each thing that is started, in order.
pub(super) fn describe_setup(setup: &Setup) -> Vec<String> {
    let limited = |text: String, limits: &ResourceLimits| {
        let limits = limits.to_string();
        if limits.is_empty() { text } else { format!("{text} · {limits}") }
    };
    let mut lines: Vec<String> = setup
        .needs
        .iter()
        .map(|need| match need {
            Dependency::Postgres(postgres) => {
                let text = format!("needs    a PostgreSQL of its own at port {}", postgres.port);
                limited(text, &postgres.limits)
            }
            Dependency::Program(program) => {
                limited(format!("needs    {}: {program}", program.name), &program.limits)
            }
        })
        .collect();
    lines.extend(setup.service.iter().map(|service| limited(format!("service  {service}"), &service.limits)));
    let reset = match setup.reset {
        ResetMethod::Restart => "everything is restarted between measurements",
        ResetMethod::Sql => "the database is reset between measurements",
        ResetMethod::None => return lines,
    };
    lines.push(format!("reset    {reset}"));
    lines
}

/// Arms, hypotheses, and the duration.
pub(super) fn describe_experiment(experiment: &ExperimentPlan) -> Vec<String> {
    let mut lines = labelled_lines("arms", experiment.arms.iter().map(|arm| arm.name.clone()).collect());
    lines.extend(labelled_lines(
        "asks",
        experiment.hypotheses.iter().map(|one| hypothesis_line(experiment, one)).collect(),
    ));
    let budget =
        experiment.budget.map_or_else(String::new, |budget| format!(", done after {budget} at the latest"));
    lines.push(format!(
        "blocks   {} of the baseline, then {} to {} blocks of one start of each arm{budget}; verdicts hold together with \
         {} confidence",
        pluralized(experiment.pilot as usize, "start"),
        experiment.least,
        experiment.most,
        experiment.confidence
    ));
    lines
}

/// How long a load other than a search is held.
pub(super) fn describe_held(experiment: &ExperimentPlan) -> String {
    let held = format!("held for {}", experiment.hold);
    match experiment.warm {
        Nanos::ZERO => held,
        warm => format!("{held}, after {warm} that do not count"),
    }
}

fn hypothesis_line(experiment: &ExperimentPlan, hypothesis: &Hypothesis) -> String {
    let Hypothesis { name, measure, effect, .. } = hypothesis;
    // A default name contains it already.
    let what = if name.contains(measure.name()) { String::new() } else { format!(", {}", measure.name()) };
    let at = match experiment.probes[hypothesis.probe].at {
        LoadLevel::Limit => String::new(),
        at => format!(" at {at}"),
    };
    format!("{name}{what}{at}, by {effect} at least")
}
