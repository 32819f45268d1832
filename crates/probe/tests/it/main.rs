//! Tables by real prober processes: this program re-executes itself as one. It has no harness, since the usual one has threads, and
//! a prober has none.

mod launch;
mod memory;
mod sides;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("prober") {
        torment_probe::run_prober().expect("it was started by the tests below");
        return ExitCode::SUCCESS;
    }
    testbed::run_tests(&[
        ("what a fork copies is paid for, and what is shared is not", launch::what_a_fork_copies_is_paid_for),
        ("a worker of 64 MiB has them", launch::a_worker_of_64_mib_has_them),
        ("only shared memory shows what a child wrote", launch::only_shared_memory_shows_what_a_child_wrote),
        ("threads take what they must", memory::threads_take_what_they_must),
        ("the table is told and explained", memory::the_table_is_told_and_explained),
        ("every cell is measured, and leaves nobody", sides::every_cell_is_measured_and_leaves_nobody),
        ("handovers on one processor are switches", sides::handovers_on_one_processor_are_switches),
        ("who is killed takes its other side along", sides::who_is_killed_takes_its_other_side_along),
        ("tables are told and explained", sides::tables_are_told_and_explained),
        ("runtimes are measured or named", sides::runtimes_are_measured_or_named),
    ])
}
