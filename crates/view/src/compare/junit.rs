//! A comparison as a JUnit test report for build servers.

use super::difference::Significance;
use super::run_comparison::RunComparison;
use crate::wording::escape_xml;
use std::fmt::Write;

impl RunComparison {
    /// JUnit XML: a suite for each run but the first, a case for each deciding measure. Worse is a failure; undecided or incomparable is
    /// skipped, with the reason.
    pub fn junit(&self) -> String {
        let mut out = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"torment compare\">\n",
        );
        let against = self.runs.first().map_or("", |run| run.title.as_str());
        for (index, run) in self.runs.iter().enumerate().skip(1) {
            let cases: Vec<(String, String)> = self
                .measures
                .iter()
                .filter(|measure| measure.decides)
                .map(|measure| {
                    let [before, now] = [0, index].map(|run| measure.figure_words(run));
                    let numbers = format!("{against}: {before}; {}: {now}", run.title);
                    let difference = measure.differences[index];
                    let by = difference.map_or_else(String::new, |d| measure.difference_words(&d));
                    let skipped = |why: &str| format!("<skipped message=\"{}\"/>", escape_xml(why.trim()));
                    let body = match difference.map(|difference| difference.significance) {
                        Some(Significance::Worse) => {
                            let message = escape_xml(format!("worse: {} {by}", measure.title).trim());
                            format!("<failure message=\"{message}\">{}</failure>", escape_xml(&numbers))
                        }
                        Some(Significance::Undecided) => skipped(&format!("undecided: {by}; {numbers}")),
                        Some(Significance::Unknown) | None => {
                            skipped(&format!("cannot be compared; {numbers}"))
                        }
                        Some(Significance::Same | Significance::Better) => {
                            format!("<system-out>{}</system-out>", escape_xml(&format!("{numbers}; {by}")))
                        }
                    };
                    (measure.title.clone(), body)
                })
                .collect();
            let count = |what: &str| cases.iter().filter(|(_, body)| body.starts_with(what)).count();
            let _ = writeln!(
                out,
                "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
                escape_xml(&format!("{} against {against}", run.title)),
                cases.len(),
                count("<failure"),
                count("<skipped"),
            );
            for (title, body) in &cases {
                let name = escape_xml(title);
                let class = escape_xml(&run.target);
                let _ =
                    writeln!(out, "    <testcase classname=\"{class}\" name=\"{name}\">{body}</testcase>");
            }
            out.push_str("  </testsuite>\n");
        }
        out.push_str("</testsuites>\n");
        out
    }
}
