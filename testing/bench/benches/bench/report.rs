//! The bench's section of the page: where, when, with what, what is missing, and the tables.

use serde_json::json;
use torment_bench::cases::BenchCase;
use torment_bench::estimate::estimate_median;
use torment_bench::generators::{InstalledGenerator, find_program, first_number, output_of};
use torment_bench::machine::{self, CpuTicks};
use torment_bench::rounds::{CaseRuns, RoundSettings};

/// Doubts shown in full; a machine that is not quiet gives one per run.
const DOUBTS: usize = 3;

/// The section of one case.
pub struct CaseSection {
    pub title: &'static str,
    pub words: &'static str,
    pub table: String,
    pub doubts: Vec<String>,
}

/// The report of a bench.
pub struct BenchReport {
    settings: RoundSettings,
    machine: String,
    date: String,
    load_average: Option<f64>,
    used_by_others: f64,
    began: Option<CpuTicks>,
    versions: Vec<(&'static str, String)>,
    missing: Vec<String>,
    sections: Vec<CaseSection>,
}

impl BenchReport {
    /// Checks whether the machine is quiet, and waits a little until it is.
    pub fn begin(settings: RoundSettings, current: &InstalledGenerator) -> Self {
        let mut report = Self {
            settings,
            machine: machine::describe(),
            date: machine::date(),
            load_average: machine::load_average(),
            used_by_others: machine::wait_until_quiet(&mut super::print_progress),
            began: CpuTicks::of_all(),
            versions: Vec::new(),
            missing: Vec::new(),
            sections: Vec::new(),
        };
        report.add_tool(current);
        for (name, argument) in [("nginx", "-v"), ("postgres", "--version")] {
            let version =
                find_program(name).and_then(|program| first_number(&output_of(&program, &[argument])));
            if let Some(version) = version {
                report.versions.push((name, version));
            }
        }
        super::print_progress(report.describe_machine());
        super::print_progress(report.describe_method());
        report
    }

    /// Adds a program that takes part.
    pub fn add_tool(&mut self, tool: &InstalledGenerator) {
        if !self.versions.iter().any(|(name, _)| *name == tool.program.name) {
            self.versions.push((tool.program.name, tool.version.clone()));
        }
    }

    /// Adds one that does not.
    pub fn add_missing(&mut self, why: String) {
        if !self.missing.contains(&why) {
            super::print_progress(format!("SKIPPED: {why}"));
            self.missing.push(why);
        }
    }

    /// Adds a measured case.
    pub fn add_section(&mut self, section: CaseSection) {
        self.sections.push(section);
    }

    fn describe_machine(&self) -> String {
        let load = self.load_average.map_or(String::new(), |load| format!("load average {load:.2}, "));
        format!(
            "{}, on {}; before it {load}{:.1} % in use by others",
            self.date,
            self.machine,
            self.used_by_others * 100.0
        )
    }

    fn describe_method(&self) -> String {
        let RoundSettings { rounds, seconds, seed } = self.settings;
        let confidence = estimate_median(&vec![0.0; rounds as usize]).map_or(0.0, |e| e.confidence);
        format!(
            "{rounds} rounds of {seconds} s for each program in an order drawn anew (seed {seed}), once more if others used its processor; medians, and ratios of the \
             same round as median (interval of {:.2} %)",
            confidence * 100.0
        )
    }

    /// All runs of a case, with what is needed to judge them.
    pub fn json(&self, case: &BenchCase, measured: &CaseRuns) -> serde_json::Result<String> {
        let versions: serde_json::Map<_, _> =
            self.versions.iter().map(|(name, version)| ((*name).to_owned(), json!(version))).collect();
        let json = json!({
            "case": case.id.to_string(), "title": case.title, "date": self.date, "machine": self.machine,
            "load_average_before": self.load_average, "used_by_others_before": self.used_by_others,
            "versions": versions, "measure": self.settings, "measured": measured,
        });
        serde_json::to_string_pretty(&json)
    }

    /// Renders the section of the page.
    pub fn render(self) -> String {
        let stolen = self.began.zip(CpuTicks::of_all()).map_or(0.0, |(began, now)| now.since(&began).stolen);
        let versions: Vec<String> =
            self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let mut page = format!(
            "Written by `make bench`. {}; {:.1} % stolen by the hypervisor during it. The server on one processor, the generator \
             on another. {} by order statistics of the sign test (David and Nagaraja, *Order Statistics*, 2003, §7.1).\n\n\
             {}.\n",
            self.describe_machine(),
            stolen * 100.0,
            self.describe_method(),
            versions.join(", ")
        );
        if !self.missing.is_empty() {
            page += &format!("\nLeft out: {}.\n", self.missing.join("; "));
        }
        for section in &self.sections {
            page += &format!("\n### {}\n\n{}\n\n{}\n", section.title, section.words, section.table);
            if !section.doubts.is_empty() {
                let more = section.doubts.len().saturating_sub(DOUBTS);
                let more = if more == 0 { String::new() } else { format!("; and {more} more") };
                let first: Vec<&str> = section.doubts.iter().take(DOUBTS).map(String::as_str).collect();
                page += &format!("\nDoubtful: {}{more}.\n", first.join("; "));
            }
        }
        page
    }
}
