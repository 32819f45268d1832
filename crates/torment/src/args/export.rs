//! `export`: a run's measurements for other tools.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use view::tables::ExportTable;

/// Write a run's measurements to files, for DuckDB, pandas or a spreadsheet
///
/// Tables of raw measurements: slices (every second of load), trials, samples (what was seen of the target),
/// histograms (for any quantile) and figures (of a probe). As Parquet, unless --format csv or the file's name says
/// otherwise. Times are UTC; what was not measured is null.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment export                                 the last run, as Parquet, to the folder run-ID
  torment export before -o before/ --format csv  one of `torment list`, for a spreadsheet
  torment export last --what slices -o slices.parquet
  torment export last --what trials --format csv -o - | column -ts,
  torment export last --profile speedscope       the stacks of a profile, for speedscope
  duckdb -c \"from 'run-*/trials.parquet'\"")]
pub struct ExportArgs {
    /// A run, by name, id or the start of its id, last, last~N [default: last]
    pub run: Option<String>,
    /// Write only this table; may be repeated [default: all]
    #[arg(long = "what", value_name = "TABLE", value_parser = what())]
    what: Vec<TableChoice>,
    /// Write the stacks of the run's profile instead, to one file: as lines for flame graphs, as protocol buffers for pprof, or as
    /// JSON for speedscope and Firefox Profiler
    #[arg(long, value_name = "FORM", value_enum, conflicts_with = "what")]
    pub profile: Option<ProfileForm>,
    /// Folder to write to, created if missing; for one table also a file, which is overwritten, or - for standard
    /// output [default: run-ID]
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// How a profile's stacks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfileForm {
    /// Lines.
    #[value(help = None)]
    Folded,
    /// Protocol buffers, packed by gzip.
    #[value(help = None)]
    Pprof,
    /// JSON.
    #[value(help = None)]
    Speedscope,
}

/// A table, or all.
#[derive(Debug, Clone, Copy)]
struct TableChoice(Option<ExportTable>);

const ALL: &str = "all";

fn what() -> impl TypedValueParser<Value = TableChoice> {
    PossibleValuesParser::new(ExportTable::ALL.map(ExportTable::name).into_iter().chain([ALL]))
        .map(|name| TableChoice(ExportTable::ALL.into_iter().find(|table| table.name() == name)))
}

impl ExportArgs {
    /// The tables asked for, each once.
    pub fn tables(&self) -> Vec<ExportTable> {
        let is_asked = |table: &ExportTable| {
            self.what.iter().any(|what| what.0.is_none_or(|requested| requested == *table))
        };
        ExportTable::ALL.into_iter().filter(|table| self.what.is_empty() || is_asked(table)).collect()
    }
}
