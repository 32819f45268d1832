use super::columns::Columns;
use record::{Figure, FigureUnit, OperationTimes};
use units::Nanos;

/// From the run's id and the figure.
pub(super) fn columns() -> Columns<(String, Figure)> {
    let columns = Columns::new()
        .text("run", "id of the run", |of: &(String, Figure)| Some(of.0.clone()))
        .text("figure_table", "what it belongs to, such as `launch`", |(_, f)| Some(f.table.clone()))
        .text("figure_row", "what was done, such as `fork`", |(_, f)| Some(f.row.clone()))
        .text("figure_column", "under which circumstances", |(_, f)| Some(f.column.clone()))
        .text("unit", "`seconds`, `bytes`, `per_second`, `bytes_per_second`, `count` or `share`", |(_, f)| {
            Some(unit(f.unit))
        })
        .number("median", "median of the blocks", |(_, f)| Some(scaled(f, f.median)))
        .number("low", "lower end of its 95 % interval", |(_, f)| Some(scaled(f, f.low)))
        .number("high", "its upper end", |(_, f)| Some(scaled(f, f.high)))
        .text("blocks", "the blocks' values in the order they were made, as a list of JSON", |(_, f)| {
            let blocks: Vec<String> = f.blocks.iter().map(|block| scaled(f, *block).to_string()).collect();
            Some(format!("[{}]", blocks.join(",")))
        })
        .whole("operations", "operations in all blocks", |(_, f)| Some(f.operations));
    /// Name and accessor.
    type Time = (&'static str, fn(&OperationTimes) -> Nanos);
    let times: [Time; 5] =
        [("min", |s| s.min), ("p50", |s| s.p50), ("p90", |s| s.p90), ("p99", |s| s.p99), ("max", |s| s.max)];
    let columns = times.into_iter().fold(columns, |columns, (name, get)| {
        let about = format!("{name} of single operations, where each was timed");
        columns.number(&format!("single_{name}_seconds"), &about, move |(_, f)| {
            f.single.map(|single| get(&single).as_secs_f64())
        })
    });
    columns
        .number("switches", "context switches of all sides, for each operation", |(_, f)| f.switches)
        .number(
            "apart_share",
            "share of the looks that found both sides on different processors",
            |(_, f)| f.apart,
        )
        .text("argument", "the figure from its parts, or what bounds it", |(_, f)| f.argument.clone())
        .text("caveats", "codes of the reasons for doubt", |(_, f)| {
            let codes: Vec<&str> = f.caveats.iter().map(|caveat| caveat.doubt.name()).collect();
            (!codes.is_empty()).then(|| codes.join("; "))
        })
}

/// All tables have times in seconds.
fn unit(unit: FigureUnit) -> &'static str {
    if unit == FigureUnit::Nanos { "seconds" } else { unit.name() }
}

fn scaled(figure: &Figure, value: f64) -> f64 {
    if figure.unit == FigureUnit::Nanos { value / 1e9 } else { value }
}
