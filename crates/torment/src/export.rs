//! `export`: a run's measurements as files that other tools read.

mod parquet;
mod profiles;
mod writer;

use crate::args::{self, Common, ExportArgs};
use crate::{Failure, kept, paper, report, wrong};
use anyhow::{Context, anyhow};
use record::RunId;
use runner::exit;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use store::{State, Store};
use tui::print;
use units::{Bytes, grouped};
use view::tables::{Row, Table, Tables};
use view::{Text, Tone};
use writer::{Format, Writer};

pub fn export(args: &ExportArgs, common: &Common) -> Result<u8, Failure> {
    let store = kept::existing(common)?;
    let id = store.find(args.run.as_deref().unwrap_or("last"))?;
    if let Some(form) = args.profile {
        return profiles::export(&store, &id, form, args.output.as_deref(), common);
    }
    let wanted = args.tables();
    let output = args.output.clone().unwrap_or_else(|| report::named(&id, ""));
    let format = format(common.format, &output);
    let place = Destination::of(output, &wanted, format)?;
    let mut files = Files { place, format, open: BTreeMap::new() };
    let skipped = each_row(&store, &id, &wanted, &mut |table, row| files.row(table, row))?;
    if files.open.is_empty() {
        return Err(nothing(&store, &id, &wanted)?);
    }
    if store.summary(&id)?.state == State::Running {
        eprintln!("torment: run {id} is still running; its tables hold what there is so far");
    }
    if skipped > 0 {
        eprintln!(
            "torment: {skipped} events of run {id} come from another version of torment, and are left out"
        );
    }
    let lines = files.end(&wanted)?;
    print(&mut io::stdout(), &lines, paper(io::stdout().is_terminal(), common))?;
    Ok(exit::MET)
}

/// Gives every row of these tables away, and says how many events could not be read.
fn each_row(
    store: &Store,
    id: &RunId,
    wanted: &[Table],
    take: &mut dyn FnMut(Table, Row) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut events = store.events(id)?;
    let mut tables = Tables::of(wanted);
    for event in events.by_ref() {
        for (table, row) in tables.fold(&event?) {
            take(table, row)?;
        }
    }
    for (table, row) in tables.end() {
        take(table, row)?;
    }
    Ok(events.skipped())
}

/// What was asked for; otherwise what the file's name says, or Parquet.
fn format(asked: args::Format, output: &Path) -> Format {
    let is_csv = output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    match asked {
        args::Format::Csv => Format::Csv,
        args::Format::Text if is_csv => Format::Csv,
        // Other forms were refused where they were typed.
        _ => Format::Parquet,
    }
}

/// Where tables go.
enum Destination {
    Stdout,
    File(PathBuf),
    Folder(PathBuf),
}

impl Destination {
    fn of(output: PathBuf, wanted: &[Table], format: Format) -> Result<Self, Failure> {
        let shown = output.display();
        let several = wanted.len() > 1;
        if output == Path::new("-") {
            return match (several, format) {
                (true, _) => Err(wrong(anyhow!(
                    "standard output takes one table, not {}: choose one, such as --what slices, or name a folder, -o FOLDER",
                    wanted.len()
                ))),
                (false, Format::Parquet) if io::stdout().is_terminal() => Err(wrong(anyhow!(
                    "Parquet is not for a terminal: name a file, -o {}.parquet, or say --format csv",
                    wanted[0].name()
                ))),
                (false, _) => Ok(Self::Stdout),
            };
        }
        // Whoever writes a slash means a folder, also one that is still to be made.
        let is_folder = output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/");
        match (several, is_folder) {
            (true, false) if output.exists() => Err(wrong(anyhow!(
                "'{shown}' is a file, and {} tables go to a folder: name one, or choose a table, such as --what slices",
                wanted.len()
            ))),
            (true, _) | (_, true) => Ok(Self::Folder(output)),
            (false, false) => Ok(Self::File(output)),
        }
    }
}

/// The tables that have rows so far.
struct Files {
    place: Destination,
    format: Format,
    open: BTreeMap<Table, Open>,
}

struct Open {
    writer: Writer<BufWriter<Box<dyn Write + Send>>>,
    /// None: standard output.
    path: Option<PathBuf>,
    rows: u64,
}

impl Files {
    fn row(&mut self, table: Table, row: Row) -> Result<(), Failure> {
        let mut open = match self.open.remove(&table) {
            Some(open) => open,
            None => self.begin(table)?,
        };
        open.rows += 1;
        open.writer.row(row).with_context(|| cannot(open.path.as_deref()))?;
        self.open.insert(table, open);
        Ok(())
    }

    fn begin(&self, table: Table) -> Result<Open, Failure> {
        let path = match &self.place {
            Destination::Stdout => None,
            Destination::File(path) => Some(path.clone()),
            Destination::Folder(folder) => {
                std::fs::create_dir_all(folder).with_context(|| cannot(Some(folder)))?;
                Some(self.in_folder(folder, table))
            }
        };
        let out: Box<dyn Write + Send> = match &path {
            None => Box::new(io::stdout()),
            Some(path) => Box::new(File::create(path).with_context(|| cannot(Some(path)))?),
        };
        let writer = Writer::begin(self.format, table.name(), &table.columns(), BufWriter::new(out));
        Ok(Open { writer: writer.with_context(|| cannot(path.as_deref()))?, path, rows: 0 })
    }

    fn in_folder(&self, folder: &Path, table: Table) -> PathBuf {
        folder.join(format!("{}.{}", table.name(), self.format.name()))
    }

    /// Ends all tables; what was written, and what was not, in lines for people.
    fn end(mut self, wanted: &[Table]) -> Result<Vec<Text>, Failure> {
        let mut lines = Vec::new();
        for table in wanted {
            match self.open.remove(table) {
                Some(open) => lines.extend(open.end()?),
                None => lines.push(self.empty(*table)),
            }
        }
        Ok(lines)
    }

    /// A file of an earlier export is not this run's.
    fn empty(&self, table: Table) -> Text {
        let line = Text::plain(format!("  {}: the run has none, so nothing is written", table.name()));
        match &self.place {
            Destination::Folder(folder) if self.in_folder(folder, table).exists() => {
                let old = self.in_folder(folder, table);
                line.and(Tone::Warn, format!("; '{}' is from an earlier export", old.display()))
            }
            _ => line,
        }
    }
}

impl Open {
    fn end(self) -> Result<Option<Text>, Failure> {
        let Self { writer, path, rows } = self;
        writer.end().with_context(|| cannot(path.as_deref()))?;
        let Some(path) = path else { return Ok(None) };
        let size = std::fs::metadata(&path).map_or(Bytes(0), |data| Bytes(data.len()));
        let rows = if rows == 1 { "1 row".to_owned() } else { format!("{} rows", grouped(rows)) };
        let line = Text::plain("  wrote ").and(Tone::Strong, path.display().to_string());
        Ok(Some(line.then(format!(" ({rows}, {size})"))))
    }
}

fn cannot(path: Option<&Path>) -> String {
    match path {
        None => "cannot write to standard output".to_owned(),
        Some(path) => format!("'{}' cannot be written", path.display()),
    }
}

/// Why there is no row, and what there would be.
fn nothing(store: &Store, id: &RunId, wanted: &[Table]) -> Result<Failure, Failure> {
    let mut has = Vec::new();
    each_row(store, id, &Table::ALL, &mut |table, _| {
        if !has.contains(&table) {
            has.push(table);
        }
        Ok(())
    })?;
    has.sort();
    let names = |tables: &[Table]| tables.iter().map(|table| table.name()).collect::<Vec<_>>().join(", ");
    let parts = store.parts(id)?;
    let advice = match (has.is_empty(), parts.last()) {
        (false, _) => format!("it has {}", names(&has)),
        (true, Some(part)) => {
            format!("its {} measurements are runs of their own, such as torment export {part}", parts.len())
        }
        (true, None) => "nothing was measured in it".to_owned(),
    };
    Ok(wrong(anyhow!("run {id} has no {}; {advice}", names(wanted))))
}
