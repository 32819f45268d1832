//! Samples as they come ▶ stacks, counted.

use crate::address_space::{AddressSpace, CodeLocation};
use crate::code_files::CodeFiles;
use crate::perf_record::{PerfRecord, StackSample, parse_record};
use crate::perf_rings::PerfRings;
use crate::runtime_names::{Frame, RuntimeFunction, RuntimeNames};
use crate::unwind::{Stack, UnwindCache};
use procfs::{TaskStat, thread_group};
use record::ProfiledProcess;
use stacks::CallTree;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::SampleRing;

/// Between two looks into the rings, which hold what comes in several of them.
const LOOK: Duration = Duration::from_millis(100);
/// Different places in stacks at most: some 30 MB.
pub const MOST_NODES: usize = 500_000;
/// Different addresses at most.
const MOST_CODES: usize = 1_000_000;
/// Processes whose memory is known at once.
const MOST_SPACES: usize = 5_000;
/// Processes that are named, and threads whose names are known.
const MOST_PROCESSES: usize = 200;
const MOST_THREADS: usize = 100_000;
/// Of so many samples one may go on behind what was copied of its stack; if more do, more is copied.
const SELDOM: u64 = 50;

/// The module of what is no function: who holds the lock that a thread waits for, behind the call that it waits in.
pub const HOLDER: &str = "[holder]";

/// Where code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameLocation {
    /// In the kernel, at this address.
    Kernel(u64),
    /// In a file.
    File(u32, u64),
    /// Made by this process while it ran.
    Generated(u32, u64),
    /// The same, of a Java machine that could not be looked into.
    Java,
    /// Named by the process: the number of its frame.
    Made(u32),
}

/// What was seen so far.
pub struct StackCollector {
    /// Who is sampled: those that were asked for, and whoever they begin.
    members: HashSet<u32>,
    /// Processes that are not.
    strangers: HashSet<u32>,
    /// As they were found, with their names.
    pub processes: Vec<ProfiledProcess>,
    spaces: HashMap<u32, AddressSpace>,
    /// The files of code.
    pub files: CodeFiles,
    rules: UnwindCache,
    /// What processes have named.
    pub made: RuntimeNames,
    codes: HashMap<FrameLocation, u32>,
    /// The same of frames that processes have named, by their numbers there: a stack of Java is little else.
    made_codes: Vec<Option<u32>>,
    /// Where the code is that stacks name by its number.
    pub list: Vec<FrameLocation>,
    /// Stacks of such numbers.
    pub tree: CallTree,
    /// Samples of each thread's group and stack.
    pub counts: BTreeMap<(u32, u32), u64>,
    /// Groups of threads.
    pub threads: Vec<String>,
    thread_of: HashMap<u32, u32>,
    /// Of those whose root was not found, how many may go on behind what was copied.
    cut: u64,
    /// As in [`record::Profile`].
    pub samples: u64,
    /// As there.
    pub lost: u64,
    /// As there.
    pub other: u64,
    /// As there.
    pub truncated: u64,
}

impl StackCollector {
    /// Of these processes, whose memory is looked at now.
    pub fn of(pids: &[u32]) -> Self {
        let mut gather = Self {
            members: HashSet::new(),
            strangers: HashSet::new(),
            processes: Vec::new(),
            spaces: HashMap::new(),
            files: CodeFiles::default(),
            rules: UnwindCache::default(),
            made: RuntimeNames::default(),
            codes: HashMap::new(),
            made_codes: Vec::new(),
            list: Vec::new(),
            tree: CallTree::bounded(MOST_NODES),
            counts: BTreeMap::new(),
            threads: Vec::new(),
            thread_of: HashMap::new(),
            cut: 0,
            samples: 0,
            lost: 0,
            other: 0,
            truncated: 0,
        };
        for pid in pids {
            gather.join(*pid);
            let space = AddressSpace::of(*pid, &mut gather.files);
            gather.spaces.insert(*pid, space);
        }
        gather
    }

    /// Whether some of them have stacks that are to be read right behind their samples.
    pub fn changes_at_once(&self) -> bool {
        self.spaces.values().any(AddressSpace::changes_at_once)
    }

    fn join(&mut self, pid: u32) {
        self.strangers.remove(&pid);
        if self.members.insert(pid) && self.processes.len() < MOST_PROCESSES {
            let name = procfs::process_name(pid).unwrap_or_default();
            self.processes.push(ProfiledProcess { pid, name });
        }
    }

    /// Takes what comes until it is asked to stop, and then what has come until then.
    pub fn run(&mut self, opened: &mut PerfRings, stop: &AtomicBool) {
        // Where the target takes all processors, samples would be lost. Where it is not allowed, more of them may be.
        let _ = sys::set_real_time();
        loop {
            let ends = stop.load(Ordering::SeqCst);
            self.read_rings(opened);
            if ends {
                return;
            }
            if self.cut * SELDOM > self.samples {
                // Where there is no room for more, it stays as it is.
                let _ = opened.copy_more_stack();
            }
            match opened.form.wakes {
                true => opened.wait(LOOK),
                false => std::thread::park_timeout(LOOK),
            }
        }
    }

    /// Takes what is in the rings, where it stays meanwhile: of a stack only some words are read. Records of different processors are put
    /// in the order of their times: a process begins on one, and maps its code on another.
    fn read_rings(&mut self, opened: &mut PerfRings) {
        let mut records = Vec::new();
        for (kind, misc, body) in opened.rings.iter_mut().flat_map(SampleRing::records) {
            match parse_record(kind, misc, body) {
                Some(PerfRecord::Lost(samples)) => self.lost += samples,
                // On a busy machine most samples are of others.
                Some(PerfRecord::Sample(sample)) if self.strangers.contains(&sample.pid) => {}
                Some(told) => records.push((time(&told, body), told)),
                None => {}
            }
        }
        records.sort_by_key(|(at, _)| *at);
        for (_, told) in records {
            self.handle_record(&told, opened.everyone);
        }
        opened.rings.iter_mut().for_each(SampleRing::release);
    }

    fn handle_record(&mut self, told: &PerfRecord<'_>, everyone: bool) {
        match *told {
            PerfRecord::Sample(ref sample) if self.members.contains(&sample.pid) => self.count(sample),
            PerfRecord::Sample(ref sample) => {
                // Where only our own threads are sampled, whoever comes along was begun by one of them.
                if everyone {
                    self.strangers.insert(sample.pid);
                } else {
                    self.join(sample.pid);
                    self.count(sample);
                }
            }
            PerfRecord::Begun { pid, parent } if pid != parent && self.members.contains(&parent) => {
                self.join(pid);
                if let Some(space) = self.spaces.get(&parent).map(AddressSpace::inherited)
                    && self.spaces.len() < MOST_SPACES
                {
                    self.spaces.insert(pid, space);
                }
            }
            // Numbers of processes come again.
            PerfRecord::Begun { pid, .. } => drop(self.strangers.remove(&pid)),
            PerfRecord::Ended { pid } => drop(self.spaces.remove(&pid)),
            PerfRecord::Named { pid, tid, name, exec } if self.members.contains(&pid) => {
                if exec {
                    self.spaces.insert(pid, AddressSpace::default());
                    if let Some(process) = self.processes.iter_mut().rev().find(|process| process.pid == pid)
                    {
                        process.name = String::from_utf8_lossy(name).into_owned();
                    }
                }
                let group = self.group(&String::from_utf8_lossy(name));
                self.thread_of.insert(tid, group);
            }
            PerfRecord::Mapped(ref mapped) if self.members.contains(&mapped.pid) => {
                // What was mapped before anyone asked is read when it is needed.
                if let Some(space) = self.spaces.get_mut(&mapped.pid) {
                    space.map(mapped, &mut self.files);
                }
            }
            PerfRecord::Named { .. } | PerfRecord::Mapped(_) | PerfRecord::Lost(_) => {}
        }
    }

    fn count(&mut self, sample: &StackSample<'_>) {
        let kernel: Vec<FrameLocation> = sample.kernel().map(FrameLocation::Kernel).collect();
        self.add(sample, kernel);
    }

    /// A thread that waits in this call, for what somebody holds.
    pub fn count_waiting(&mut self, sample: &StackSample<'_>, call: &str, held_by: Option<String>) {
        let mut number = |module: &str, name: String| {
            let module = module.to_owned();
            self.made.alone(RuntimeFunction { module, name, file: None, line: None }).map(FrameLocation::Made)
        };
        let call = number("[kernel]", call.to_owned());
        let holder = held_by.and_then(|name| number(HOLDER, name));
        self.add(sample, call.into_iter().chain(holder).collect());
    }

    /// Counts one, whose innermost functions these are.
    fn add(&mut self, sample: &StackSample<'_>, mut found: Vec<FrameLocation>) {
        self.samples += 1;
        let (pid, thread) = (sample.pid, self.thread(sample));
        let (files, rules, made) = (&mut self.files, &mut self.rules, &mut self.made);
        if self.spaces.len() >= MOST_SPACES && !self.spaces.contains_key(&pid) {
            self.spaces.clear();
        }
        let space = self.spaces.entry(pid).or_insert_with(|| AddressSpace::of(pid, files));
        let Stack { frames, mut whole } = space.unwind(sample, rules, files, made);
        for frame in frames {
            let place = match frame {
                Frame::Made(number) => {
                    found.push(FrameLocation::Made(number));
                    continue;
                }
                Frame::Address(address) => space.place_now(address, pid, files),
            };
            found.push(match place {
                Some(CodeLocation::File(file, address)) => FrameLocation::File(file, address),
                Some(CodeLocation::Generated(_)) if space.hides_java() => FrameLocation::Java,
                Some(CodeLocation::Generated(address)) => FrameLocation::Generated(pid, address),
                // No code: what was taken for a caller is none.
                None => {
                    whole = false;
                    break;
                }
            });
        }
        self.truncated += u64::from(!whole);
        self.cut += u64::from(!whole && sample.is_full);
        let codes: Option<Vec<u32>> = found.into_iter().rev().map(|code| self.number(code)).collect();
        match codes.and_then(|codes| self.tree.add_stack(codes)) {
            Some(place) => *self.counts.entry((thread, place)).or_default() += 1,
            None => self.other += 1,
        }
    }

    fn number(&mut self, code: FrameLocation) -> Option<u32> {
        let known = match code {
            FrameLocation::Made(made) => self.made_codes.get(made as usize).copied().flatten(),
            _ => self.codes.get(&code).copied(),
        };
        if known.is_some() || self.list.len() >= MOST_CODES {
            return known;
        }
        let number = self.list.len() as u32;
        self.list.push(code);
        match code {
            FrameLocation::Made(made) => {
                let made = made as usize;
                self.made_codes.resize(self.made_codes.len().max(made + 1), None);
                self.made_codes[made] = Some(number);
            }
            _ => {
                self.codes.insert(code, number);
            }
        }
        Some(number)
    }

    /// The group of a sample's thread.
    fn thread(&mut self, sample: &StackSample<'_>) -> u32 {
        if let Some(group) = self.thread_of.get(&sample.tid) {
            return *group;
        }
        let path = format!("/proc/{}/task/{}/comm", sample.pid, sample.tid);
        let name = std::fs::read_to_string(path).unwrap_or_default();
        let group = self.group(name.trim());
        if self.thread_of.len() >= MOST_THREADS {
            self.thread_of.clear();
        }
        self.thread_of.insert(sample.tid, group);
        group
    }

    fn group(&mut self, name: &str) -> u32 {
        let group = thread_group(name);
        let known = self.threads.iter().position(|known| *known == group);
        known.unwrap_or_else(|| {
            self.threads.push(group);
            self.threads.len() - 1
        }) as u32
    }
}

/// When a record was made: a sample has it behind its threads, every other record at its end.
fn time(told: &PerfRecord<'_>, body: &[u8]) -> u64 {
    let place = match told {
        PerfRecord::Sample(_) => body.get(16..24),
        _ => body.len().checked_sub(8).and_then(|from| body.get(from..)),
    };
    place.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

/// These processes, and all that they have begun and those again.
pub fn with_descendants(pids: &[u32]) -> Vec<u32> {
    let parents: HashMap<u32, u32> =
        procfs::pids().filter_map(|pid| Some((pid, TaskStat::read(pid)?.parent))).collect();
    let mut family: Vec<u32> = pids.iter().copied().filter(|pid| parents.contains_key(pid)).collect();
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        let children: Vec<u32> = parents
            .iter()
            .filter(|(child, of)| **of == parent && !family.contains(child))
            .map(|(child, _)| *child)
            .collect();
        family.extend(children);
        next += 1;
    }
    family
}
