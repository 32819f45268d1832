//! The table `memory`, by a real prober. What a thread takes at least is known; what the kernel adds varies.

use record::{Event, Figure};
use std::fs::read_to_string;
use torment_probe::{AnyProbe, BlockResult, MemoryTable, ProbeSettings, ProbeTable, Prober, measure};
use units::Nanos;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// A probe's row, and a block by a fresh prober, which has no thread left afterwards.
fn block(probe: &AnyProbe) -> (String, BlockResult) {
    let own = std::env::current_exe().expect("every Linux tells");
    let mut worker = Prober::start(&own, probe.prober_kind()).expect("it was started once already");
    let block = worker.measure_block(probe, 1).expect("it is well").expect("it can be measured");
    assert_eq!(block.values.len(), probe.figures().len());
    (probe.figures()[0].row.clone(), block)
}

#[track_caller]
fn is_near(what: &str, value: f64, from: f64, to: f64) {
    assert!((from..=to).contains(&value), "{what}: {value}, not between {from} and {to}");
}

pub fn threads_take_what_they_must() {
    let page = rustix::param::page_size() as f64;
    for what in MemoryTable.cells() {
        let (row, block) = block(&what);
        println!(
            "    {row}: {:?}",
            block.values.iter().map(|value| (value / KIB * 100.0).round() / 100.0).collect::<Vec<_>>()
        );
        match (row.as_str(), &block.values[..]) {
            ("thread, 8 MiB stack", [size, resident, tables, kernel, slab, sum, _]) => {
                is_near("virtual", *size, 8.0 * MIB + page, 8.0 * MIB + page + 2.0 * KIB);
                is_near("resident", *resident, 2.0 * page * 0.95, 4.0 * page);
                is_near("page tables", *tables, page * 0.9, page * 1.2);
                // Other processes start and end threads meanwhile.
                is_near("kernel stack", *kernel, 8.0 * KIB * 0.95, 32.0 * KIB * 1.05);
                is_near(
                    "sum",
                    *sum,
                    resident + tables + kernel + slab - 1.0,
                    resident + tables + kernel + slab + 1.0,
                );
            }
            ("thread, 400 KiB of stack touched", [size, resident, ..]) => {
                is_near("virtual", *size, 8.0 * MIB + page, 8.0 * MIB + page + 2.0 * KIB);
                is_near("resident", *resident, 400.0 * KIB, 400.0 * KIB + 8.0 * page);
            }
            ("raw clone without stack", [size, resident, tables, kernel, ..]) => {
                is_near("virtual", *size, 0.0, 64.0);
                is_near("resident", *resident, -64.0, 256.0);
                is_near("page tables", *tables, 0.0, 64.0);
                is_near("kernel stack", *kernel, 8.0 * KIB * 0.95, 32.0 * KIB * 1.05);
            }
            ("malloc of 400 MiB", [size, resident, size_touched, resident_touched]) => {
                is_near("virtual", *size, 400.0 * MIB, 401.0 * MIB);
                is_near("resident", *resident, 0.0, MIB);
                is_near("virtual, touched", *size_touched, 400.0 * MIB, 401.0 * MIB);
                is_near("resident, touched", *resident_touched, 399.0 * MIB, 401.0 * MIB);
            }
            other => panic!("{other:?}"),
        }
    }
}

pub fn the_table_is_told_and_explained() {
    let program = std::env::current_exe().expect("every Linux tells");
    let settings = ProbeSettings { blocks: 2, block_time: Nanos::from_millis(10), seed: 1, program };
    let (mut figures, mut notes): (Vec<Figure>, Vec<String>) = (Vec::new(), Vec::new());
    let mut emit = |event| match event {
        Event::Measured { figure } => figures.push(*figure),
        Event::Noted { text, .. } => notes.push(text),
        _ => {}
    };
    let whole = measure(&MemoryTable, &settings, &mut emit, &|| false).expect("a worker starts");
    assert!(whole, "{notes:?}");
    assert_eq!(figures.len(), MemoryTable.cells().iter().map(|what| what.figures().len()).sum::<usize>());
    for figure in &figures {
        assert!(figure.blocks.len() >= 2, "{figure:?}");
        let needs_none = matches!(figure.column.as_str(), "sum" | "MemFree");
        assert!(needs_none || figure.argument.is_some(), "{figure:?}");
    }
    assert!(notes.iter().any(|note| note.contains("in no process's RSS")), "{notes:?}");
    notes.iter().for_each(|note| println!("    {note}"));
    // All threads have gone with their prober.
    let status = read_to_string("/proc/self/status").expect("every Linux has it");
    assert!(status.contains("Threads:\t1\n"), "{status}");
}
