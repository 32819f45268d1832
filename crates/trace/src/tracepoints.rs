//! Records system calls by kernel tracepoints (tracefs, `raw_syscalls`): those of this process and its new
//! descendants, undisturbed but for the recording. Root only.

mod ring;

use crate::syscalls::{SyscallCost, longest_first};
use ring::{Record, TraceRing};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use units::Nanos;

/// Mount points of tracefs, now and formerly.
const PLACES: [&str; 2] = ["sys/kernel/tracing", "sys/kernel/debug/tracing"];
/// Buffer per processor; once full, recording stops.
const BUFFER_KIB: u32 = 8192;

/// The folder for private trace instances (made by mkdir(2), removed by rmdir(2)).
///
/// # Errors
/// The reason, if there is none or it is not writable.
pub fn find_instances() -> Result<PathBuf, String> {
    find_instances_in(Path::new("/"))
}

/// The same with another root than `/`.
///
/// # Errors
/// As [`find_instances`].
pub fn find_instances_in(root: &Path) -> Result<PathBuf, String> {
    let place = PLACES.iter().map(|place| root.join(place).join("instances")).find(|place| place.is_dir());
    let place = place.ok_or("tracefs is not mounted, or may not be read by this user")?;
    let may = rustix::fs::access(&place, rustix::fs::Access::WRITE_OK);
    may.map_err(|why| format!("{}: {why}; the kernel's tracepoints are for root", place.display()))?;
    Ok(place)
}

/// Records the system calls of this process and its descendants.
#[derive(Debug)]
pub struct TracepointRecorder {
    folder: PathBuf,
    enter: Tracepoint,
    exit: Tracepoint,
}

/// A tracepoint: its record type, and the offsets of the call number and of another value needed.
#[derive(Debug, Clone, Copy)]
struct Tracepoint {
    id: u16,
    call: usize,
    value: Option<usize>,
}

/// The system calls of programs executed while recording.
#[derive(Debug, Clone, Default)]
pub struct RecordedSyscalls {
    /// Programs seen from exec to exit.
    pub programs: u64,
    /// Programs whose end is missing: the buffers were full.
    pub truncated: u64,
    /// Calls of these programs and their descendants, the longest first. Times are from call to return,
    /// waiting included.
    pub costs: Vec<SyscallCost>,
}

impl TracepointRecorder {
    /// Starts recording in an instance made for it.
    ///
    /// # Errors
    /// Names the setting that the kernel refuses.
    pub fn begin(instance: &Path) -> Result<Self, String> {
        let folder = instance.to_owned();
        let enter = Tracepoint::of(&folder, "sys_enter", None)?;
        let exit = Tracepoint::of(&folder, "sys_exit", Some("ret"))?;
        let threads = fs::read_dir("/proc/self/task").map_err(|why| format!("/proc/self/task: {why}"))?;
        let threads = threads.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let threads = threads.collect::<Vec<_>>().join(" ");
        for (file, value) in [
            ("trace_clock", "mono"),
            // Keeps the earliest records.
            ("options/overwrite", "0"),
            ("options/event-fork", "1"),
            ("buffer_size_kb", &BUFFER_KIB.to_string()),
            ("set_event_pid", &threads),
            ("events/raw_syscalls/enable", "1"),
        ] {
            fs::write(folder.join(file), value)
                .map_err(|why| format!("{file} of a trace instance: {why}"))?;
        }
        Ok(Self { folder, enter, exit })
    }

    /// Stops and evaluates the records. The caller removes the instance.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub fn end(self) -> Result<RecordedSyscalls, String> {
        let failed = |why: io::Error| format!("the record of a trace instance: {why}");
        fs::write(self.folder.join("events/raw_syscalls/enable"), "0").map_err(failed)?;
        let mut records = Vec::new();
        for processor in fs::read_dir(self.folder.join("per_cpu")).map_err(failed)?.flatten() {
            let ring = TraceRing::open(&processor.path(), &self.folder).map_err(failed)?;
            ring.read(|record| records.extend(self.parse_event(record))).map_err(failed)?;
        }
        records.sort_by_key(|event| event.at);
        Ok(summarize(&records))
    }

    fn parse_event(&self, record: &Record<'_>) -> Option<SyscallEvent> {
        let number = record.number::<2>(0).map(u16::from_ne_bytes)?;
        let pid = record.number::<4>(4).map(i32::from_ne_bytes)?;
        let long = |at| record.number::<8>(at).map(i64::from_ne_bytes);
        let direction = if number == self.enter.id {
            Direction::Enter(long(self.enter.call)?)
        } else if number == self.exit.id {
            Direction::Exit(long(self.exit.call)?, long(self.exit.value?)?)
        } else {
            return None;
        };
        Some(SyscallEvent { at: record.at, pid, direction })
    }
}

impl Tracepoint {
    fn of(folder: &Path, name: &str, value: Option<&str>) -> Result<Self, String> {
        let file = format!("events/raw_syscalls/{name}/format");
        let format = fs::read_to_string(folder.join(&file)).map_err(|why| format!("{file}: {why}"))?;
        let unknown = || format!("{file} of this kernel is not as it is known");
        let id = format.lines().find_map(|line| line.strip_prefix("ID: ")?.trim().parse().ok());
        let value = value.map(|value| offset(&format, value).ok_or_else(unknown)).transpose()?;
        Ok(Self { id: id.ok_or_else(unknown)?, call: offset(&format, "id").ok_or_else(unknown)?, value })
    }
}

/// The offset of an 8-byte field, from lines such as `field:long id; offset:8; size:8; signed:1;`.
fn offset(format: &str, field: &str) -> Option<usize> {
    let mut lines = format.lines().filter_map(|line| line.trim().strip_prefix("field:"));
    let line =
        lines.find(|line| line.split(';').next().is_some_and(|name| name.ends_with(&format!(" {field}"))))?;
    let number = |key: &str| line.split(';').find_map(|part| part.trim().strip_prefix(key)?.parse().ok());
    (number("size:") == Some(8)).then(|| number("offset:")).flatten()
}

/// Entry to or exit from a system call.
#[derive(Debug, Clone, Copy)]
struct SyscallEvent {
    at: u64,
    pid: i32,
    direction: Direction,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    /// The call number.
    Enter(i64),
    /// The call number and return value.
    Exit(i64, i64),
}

/// The calls of one program, including its threads and children.
#[derive(Debug, Default)]
struct Program {
    calls: BTreeMap<i64, (u64, u64)>,
    /// Its exit was seen; a full buffer lacks the exit.
    ended: bool,
}

/// Sums by program: a process becomes a program on exec, and its descendants are part of it.
fn summarize(events: &[SyscallEvent]) -> RecordedSyscalls {
    let executes = ["execve", "execveat"].map(sys::syscall_number);
    let starts = ["clone", "clone3", "fork", "vfork"].map(sys::syscall_number);
    let ends = sys::syscall_number("exit_group");
    // A child's first call may precede the return value that names it to its parent.
    let parents: BTreeMap<i32, i32> = events
        .iter()
        .filter_map(|event| match event.direction {
            Direction::Exit(call, child) if child > 0 && starts.contains(&Some(call)) => {
                Some((i32::try_from(child).ok()?, event.pid))
            }
            _ => None,
        })
        .collect();
    let mut programs: Vec<Program> = Vec::new();
    let mut program_of: BTreeMap<i32, usize> = BTreeMap::new();
    let mut entered: BTreeMap<i32, (i64, u64)> = BTreeMap::new();
    for event in events {
        let inherited = || parents.get(&event.pid).and_then(|parent| program_of.get(parent)).copied();
        let program = program_of.get(&event.pid).copied().or_else(inherited);
        if let Some(program) = program {
            program_of.insert(event.pid, program);
        }
        match event.direction {
            Direction::Enter(call) => {
                entered.insert(event.pid, (call, event.at));
                if let Some(program) = program.map(|program| &mut programs[program]) {
                    program.calls.entry(call).or_default().0 += 1;
                    program.ended |= ends == Some(call);
                }
            }
            Direction::Exit(call, result) => {
                let since = entered.remove(&event.pid).filter(|(entered, _)| *entered == call);
                match (program, since) {
                    (Some(program), Some((_, since))) => {
                        let time = event.at.saturating_sub(since);
                        programs[program].calls.entry(call).or_default().1 += time;
                    }
                    (None, _) if result == 0 && executes.contains(&Some(call)) => {
                        program_of.insert(event.pid, programs.len());
                        programs.push(Program::default());
                    }
                    _ => {}
                }
            }
        }
    }
    let complete: Vec<&Program> = programs.iter().filter(|program| program.ended).collect();
    let mut costs: BTreeMap<i64, SyscallCost> = BTreeMap::new();
    for (number, (count, time)) in complete.iter().flat_map(|program| &program.calls) {
        let cost = costs.entry(*number).or_insert_with(|| SyscallCost::none(*number));
        cost.count += count;
        cost.time = Nanos(cost.time.0 + time);
    }
    RecordedSyscalls {
        programs: complete.len() as u64,
        truncated: (programs.len() - complete.len()) as u64,
        costs: longest_first(costs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(at: u64, pid: i32, name: &str) -> SyscallEvent {
        SyscallEvent {
            at,
            pid,
            direction: Direction::Enter(sys::syscall_number(name).expect("every Linux has it")),
        }
    }

    fn exit(at: u64, pid: i32, name: &str, result: i64) -> SyscallEvent {
        SyscallEvent {
            at,
            pid,
            direction: Direction::Exit(sys::syscall_number(name).expect("every Linux has it"), result),
        }
    }

    #[test]
    fn a_program_begins_with_its_execution_and_has_its_children() {
        let seen = [
            // The parent: none of its calls count.
            enter(0, 1, "clone3"),
            enter(5, 2, "execve"),
            exit(9, 2, "execve", 0),
            exit(10, 1, "clone3", 2),
            enter(11, 1, "wait4"),
            enter(12, 2, "clone3"),
            // The child's call precedes the parent's return.
            enter(13, 3, "read"),
            exit(14, 2, "clone3", 3),
            exit(43, 3, "read", 1),
            enter(44, 3, "exit_group"),
            enter(50, 2, "exit_group"),
            // A program without end.
            exit(60, 4, "execve", 0),
            enter(61, 4, "read"),
        ];
        let recorded = summarize(&seen);
        assert_eq!((recorded.programs, recorded.truncated), (1, 1));
        let calls: Vec<_> =
            recorded.costs.iter().map(|cost| (cost.name.expect("known"), cost.count, cost.time.0)).collect();
        assert_eq!(calls, [("read", 1, 30), ("clone3", 1, 2), ("exit_group", 2, 0)]);
    }

    #[test]
    fn fields_are_found_in_a_format() {
        let format = "name: sys_exit\nID: 442\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
                      \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";
        assert_eq!((offset(format, "id"), offset(format, "ret")), (Some(8), Some(16)));
        assert_eq!((offset(format, "common_pid"), offset(format, "nothing")), (None, None));
    }
}
