//! `export`: a run's measurements as files for other tools.

mod parquet;
mod profiles;
mod writer;

use crate::args::{self, CommonArgs, ExportArgs};
use crate::{CommandError, paper, report, run_source, usage_error};
use anyhow::{Context, anyhow};
use record::RunId;
use runner::exit;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use store::{RunState, Store};
use tui::print;
use units::{Bytes, grouped};
use view::tables::{ExportRow, ExportTable, TableExporter};
use view::{Text, Tone};
use writer::{TableFormat, TableWriter};

pub fn export(args: &ExportArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let store = run_source::existing(common)?;
    let id = store.find(args.run.as_deref().unwrap_or("last"))?;
    if let Some(form) = args.profile {
        return profiles::export(&store, &id, form, args.output.as_deref(), common);
    }
    let wanted = args.tables();
    let output = args.output.clone().unwrap_or_else(|| report::report_path(&id, ""));
    let format = format(common.format, &output);
    let place = Destination::choose(output, &wanted, format)?;
    let mut files = TableFiles { destination: place, format, tables: BTreeMap::new() };
    let skipped = each_row(&store, &id, &wanted, &mut |table, row| files.write_row(table, row))?;
    if files.tables.is_empty() {
        return Err(no_rows_error(&store, &id, &wanted)?);
    }
    if store.summary(&id)?.state == RunState::Running {
        eprintln!("torment: run {id} is still running; its tables hold what there is so far");
    }
    if skipped > 0 {
        eprintln!(
            "torment: {skipped} events of run {id} come from another version of torment, and are left out"
        );
    }
    let lines = files.finish(&wanted)?;
    print(&mut io::stdout(), &lines, paper(io::stdout().is_terminal(), common))?;
    Ok(exit::MET)
}

/// Passes on every row of these tables; returns how many events were unreadable.
fn each_row(
    store: &Store,
    id: &RunId,
    wanted: &[ExportTable],
    on_row: &mut dyn FnMut(ExportTable, ExportRow) -> Result<(), CommandError>,
) -> Result<u64, CommandError> {
    let mut events = store.events(id)?;
    let mut tables = TableExporter::of(wanted);
    for event in events.by_ref() {
        for (table, row) in tables.fold(&event?) {
            on_row(table, row)?;
        }
    }
    for (table, row) in tables.end() {
        on_row(table, row)?;
    }
    Ok(events.skipped())
}

/// The format asked for; else by the file's name, or Parquet.
fn format(requested: args::OutputFormat, output: &Path) -> TableFormat {
    let is_csv = output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    match requested {
        args::OutputFormat::Csv => TableFormat::Csv,
        args::OutputFormat::Text if is_csv => TableFormat::Csv,
        // Other formats were rejected during argument parsing.
        _ => TableFormat::Parquet,
    }
}

enum Destination {
    Stdout,
    File(PathBuf),
    Folder(PathBuf),
}

impl Destination {
    fn choose(output: PathBuf, wanted: &[ExportTable], format: TableFormat) -> Result<Self, CommandError> {
        let shown = output.display();
        let several = wanted.len() > 1;
        if output == Path::new("-") {
            return match (several, format) {
                (true, _) => Err(usage_error(anyhow!(
                    "standard output takes one table, not {}: choose one, such as --what slices, or name a folder, -o FOLDER",
                    wanted.len()
                ))),
                (false, TableFormat::Parquet) if io::stdout().is_terminal() => Err(usage_error(anyhow!(
                    "Parquet is not for a terminal: name a file, -o {}.parquet, or say --format csv",
                    wanted[0].name()
                ))),
                (false, _) => Ok(Self::Stdout),
            };
        }
        // A trailing slash means a folder, even one that does not exist yet.
        let is_folder = output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/");
        match (several, is_folder) {
            (true, false) if output.exists() => Err(usage_error(anyhow!(
                "'{shown}' is a file, and {} tables go to a folder: name one, or choose a table, such as --what slices",
                wanted.len()
            ))),
            (true, _) | (_, true) => Ok(Self::Folder(output)),
            (false, false) => Ok(Self::File(output)),
        }
    }
}

/// The tables that have rows so far.
struct TableFiles {
    destination: Destination,
    format: TableFormat,
    tables: BTreeMap<ExportTable, OpenTable>,
}

struct OpenTable {
    writer: TableWriter<BufWriter<Box<dyn Write + Send>>>,
    /// `None`: standard output.
    path: Option<PathBuf>,
    rows: u64,
}

impl TableFiles {
    fn write_row(&mut self, table: ExportTable, row: ExportRow) -> Result<(), CommandError> {
        let mut open = match self.tables.remove(&table) {
            Some(open) => open,
            None => self.begin(table)?,
        };
        open.rows += 1;
        open.writer.write_row(row).with_context(|| write_error(open.path.as_deref()))?;
        self.tables.insert(table, open);
        Ok(())
    }

    fn begin(&self, table: ExportTable) -> Result<OpenTable, CommandError> {
        let path = match &self.destination {
            Destination::Stdout => None,
            Destination::File(path) => Some(path.clone()),
            Destination::Folder(folder) => {
                std::fs::create_dir_all(folder).with_context(|| write_error(Some(folder)))?;
                Some(self.in_folder(folder, table))
            }
        };
        let out: Box<dyn Write + Send> = match &path {
            None => Box::new(io::stdout()),
            Some(path) => Box::new(File::create(path).with_context(|| write_error(Some(path)))?),
        };
        let writer = TableWriter::begin(self.format, table.name(), &table.columns(), BufWriter::new(out));
        Ok(OpenTable { writer: writer.with_context(|| write_error(path.as_deref()))?, path, rows: 0 })
    }

    fn in_folder(&self, folder: &Path, table: ExportTable) -> PathBuf {
        folder.join(format!("{}.{}", table.name(), self.format.name()))
    }

    /// Finishes all tables; says what was written, and what was not.
    fn finish(mut self, wanted: &[ExportTable]) -> Result<Vec<Text>, CommandError> {
        let mut lines = Vec::new();
        for table in wanted {
            match self.tables.remove(table) {
                Some(open) => lines.extend(open.finish()?),
                None => lines.push(self.empty(*table)),
            }
        }
        Ok(lines)
    }

    /// A file of an earlier export is not this run's.
    fn empty(&self, table: ExportTable) -> Text {
        let line = Text::plain(format!("  {}: the run has none, so nothing is written", table.name()));
        match &self.destination {
            Destination::Folder(folder) if self.in_folder(folder, table).exists() => {
                let old = self.in_folder(folder, table);
                line.with_span(Tone::Warn, format!("; '{}' is from an earlier export", old.display()))
            }
            _ => line,
        }
    }
}

impl OpenTable {
    fn finish(self) -> Result<Option<Text>, CommandError> {
        let Self { writer, path, rows } = self;
        writer.finish().with_context(|| write_error(path.as_deref()))?;
        let Some(path) = path else { return Ok(None) };
        let size = std::fs::metadata(&path).map_or(Bytes(0), |data| Bytes(data.len()));
        let rows = if rows == 1 { "1 row".to_owned() } else { format!("{} rows", grouped(rows)) };
        let line = Text::plain("  wrote ").with_span(Tone::Strong, path.display().to_string());
        Ok(Some(line.with_plain(format!(" ({rows}, {size})"))))
    }
}

fn write_error(path: Option<&Path>) -> String {
    match path {
        None => "cannot write to standard output".to_owned(),
        Some(path) => format!("'{}' cannot be written", path.display()),
    }
}

/// Why there is no row, and which tables have some.
fn no_rows_error(store: &Store, id: &RunId, wanted: &[ExportTable]) -> Result<CommandError, CommandError> {
    let mut has = Vec::new();
    each_row(store, id, &ExportTable::ALL, &mut |table, _| {
        if !has.contains(&table) {
            has.push(table);
        }
        Ok(())
    })?;
    has.sort();
    let names =
        |tables: &[ExportTable]| tables.iter().map(|table| table.name()).collect::<Vec<_>>().join(", ");
    let parts = store.parts(id)?;
    let advice = match (has.is_empty(), parts.last()) {
        (false, _) => format!("it has {}", names(&has)),
        (true, Some(part)) => {
            format!("its {} measurements are runs of their own, such as torment export {part}", parts.len())
        }
        (true, None) => "nothing was measured in it".to_owned(),
    };
    Ok(usage_error(anyhow!("run {id} has no {}; {advice}", names(wanted))))
}
