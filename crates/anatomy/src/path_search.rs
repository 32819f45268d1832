mod function;

use crate::call_path::{CallPath, CallSite, DisassembledLine, PathStep, SyscallPaths, SyscallSite};
use crate::decoder::disassemble;
use crate::flow::Target;
use crate::image::SlotContent;
use crate::{CloneFlags, CreationSyscall, Error, Image};
use function::{ControlTransfer, FunctionBody, scan_function};
use std::collections::{BTreeSet, VecDeque};

/// Maximum search depth, in calls: the longest known path has four.
const DEPTH: usize = 8;
/// Maximum instructions read: a C library has some 400,000.
const INSTRUCTIONS: usize = 300_000;
/// Instructions shown before the system call.
const SHOWN: usize = 16;

/// Follows the direct calls and jumps of a function, breadth first, to the system calls that create a process or a thread.
/// Starts in the first of `libraries` that defines `symbol`; imports lead to the others.
///
/// Finds the shortest paths, and those at most one call longer. A dead end is no error: the
/// answer says how far it was followed.
///
/// # Errors
/// If no library defines the function.
pub fn find_syscall_paths(libraries: &[Image<'_>], symbol: &str) -> Result<SyscallPaths, Error> {
    let start = libraries
        .iter()
        .enumerate()
        .find_map(|(n, image)| Some(FunctionAddress { library: n, address: image.find(symbol)? }));
    let Some(start) = start else { return Err(Error::NoSymbol { symbol: symbol.to_owned() }) };
    let mut search = PathSearch {
        libraries,
        nodes: vec![Node { function: start, parent: None, depth: 0, body: None }],
        visited: BTreeSet::from([start]),
        budget: INSTRUCTIONS,
        unknown_calls: 0,
    };
    let (found, cut_short) = search.run();
    let paths: Vec<CallPath> = found.into_iter().map(|(node, site)| search.call_path(node, site)).collect();
    let machine = libraries.get(start.library).map_or(crate::Architecture(0), Image::machine);
    Ok(SyscallPaths {
        symbol: symbol.to_owned(),
        machine,
        bypassed: paths.first().map(|chain| bypassed_exports(libraries, chain, symbol)).unwrap_or_default(),
        paths,
        functions: search.nodes.iter().filter(|node| node.body.is_some()).count(),
        instructions: INSTRUCTIONS - search.budget,
        depth: search.nodes.iter().filter(|n| n.body.is_some()).map(|n| n.depth).max().unwrap_or(0),
        unknown_calls: search.unknown_calls,
        cut_short,
    })
}

/// A function: its library and its address there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FunctionAddress {
    library: usize,
    address: u64,
}

struct Node {
    function: FunctionAddress,
    parent: Option<usize>,
    depth: usize,
    body: Option<FunctionBody>,
}

struct PathSearch<'s, 'a> {
    libraries: &'s [Image<'a>],
    nodes: Vec<Node>,
    visited: BTreeSet<FunctionAddress>,
    budget: usize,
    unknown_calls: usize,
}

impl PathSearch<'_, '_> {
    /// The system calls found, each with its function; and why the search ended early.
    fn run(&mut self) -> (Vec<(usize, SyscallSite)>, Option<&'static str>) {
        let mut found: Vec<(usize, SyscallSite)> = Vec::new();
        let mut queue = VecDeque::from([0]);
        let mut cut_short = None;
        let mut depth_limit = DEPTH;
        while let Some(n) = queue.pop_front() {
            let Some(&Node { function: place, depth, .. }) = self.nodes.get(n) else { break };
            if depth > depth_limit {
                break;
            }
            let Some(image) = self.libraries.get(place.library) else { break };
            let body = scan_function(image, place.address, &mut self.budget);
            if body.cut_short {
                cut_short = Some("more instructions than are read at most");
            }
            let sites = body.syscalls.iter().filter_map(|system| syscall_site(image, system));
            found.extend(sites.map(|site| (n, site)));
            if let Some((first, _)) = found.first() {
                depth_limit = self.nodes.get(*first).map_or(depth, |node| node.depth) + 1;
            }
            for target in body.transfers.iter().map(|goes| goes.target) {
                match self.resolve(place.library, target) {
                    Some(next) if depth == DEPTH && !self.visited.contains(&next) => {
                        cut_short = Some("calls lead deeper than is followed");
                    }
                    Some(next) if self.visited.insert(next) => {
                        queue.push_back(self.nodes.len());
                        self.nodes.push(Node {
                            function: next,
                            parent: Some(n),
                            depth: depth + 1,
                            body: None,
                        });
                    }
                    Some(_) => {}
                    None => self.unknown_calls += 1,
                }
            }
            if let Some(node) = self.nodes.get_mut(n) {
                node.body = Some(body);
            }
        }
        let cut_short = cut_short.filter(|_| found.is_empty());
        (found, cut_short)
    }

    /// The target function of a call or jump; none if known only at run time.
    fn resolve(&self, library: usize, target: Target) -> Option<FunctionAddress> {
        let image = self.libraries.get(library)?;
        let here = |address| FunctionAddress { library, address };
        match target {
            Target::Address(address) => Some(here(address)),
            Target::Slot(slot) => match image.slot_content(slot)? {
                SlotContent::Address(address) => Some(here(address)),
                SlotContent::Symbol(name) => {
                    let others = self.libraries.iter().enumerate().filter(|(n, _)| *n != library);
                    let all = std::iter::once((library, image)).chain(others);
                    let mut places = all.filter_map(|(n, image)| {
                        Some(FunctionAddress { library: n, address: image.find(&name)? })
                    });
                    places.next()
                }
                SlotContent::IndirectFunction => None,
            },
            Target::Unknown => None,
        }
    }

    /// The path that led to this function.
    fn call_path(&self, node: usize, site: SyscallSite) -> CallPath {
        let mut steps = Vec::new();
        let (mut at, mut next) = (Some(node), None);
        while let Some(node) = at.and_then(|n| self.nodes.get(n)) {
            steps.push(self.step(node, next));
            (next, at) = (Some(node.function), node.parent);
        }
        steps.reverse();
        CallPath { steps: without_stubs(steps), site }
    }

    fn step(&self, node: &Node, next: Option<FunctionAddress>) -> PathStep {
        let FunctionAddress { library, address } = node.function;
        let transfers = node.body.iter().flat_map(|body| &body.transfers);
        let there = |goes: &&ControlTransfer| next.is_some() && self.resolve(library, goes.target) == next;
        let image = self.libraries.get(library);
        let call = |goes: &ControlTransfer| {
            let after = goes.address.checked_add(u64::from(goes.length));
            Some(CallSite {
                line: disassembled_line(image?, goes.address, goes.length),
                returns: after.filter(|_| goes.is_call),
            })
        };
        let names = image.map(|image| image.names(address)).unwrap_or_default();
        PathStep {
            library,
            address,
            names: names.into_iter().cloned().collect(),
            calls: transfers.filter(there).filter_map(call).collect(),
        }
    }
}

/// Drops stubs that only jump through the loader's table (PLT): nobody wrote those.
fn without_stubs(steps: Vec<PathStep>) -> Vec<PathStep> {
    let last = steps.len().saturating_sub(1);
    let is_stub =
        |step: &PathStep| step.names.is_empty() && step.calls.iter().all(|call| call.returns.is_none());
    let keep = |(n, step): (usize, PathStep)| (n == 0 || n == last || !is_stub(&step)).then_some(step);
    steps.into_iter().enumerate().filter_map(keep).collect()
}

fn disassembled_line(image: &Image<'_>, address: u64, length: u8) -> DisassembledLine {
    let code = image.code(address).unwrap_or_default();
    let bytes = code.get(..usize::from(length)).unwrap_or(code);
    DisassembledLine { address, bytes: bytes.to_vec(), text: disassemble(image.machine(), bytes, address) }
}

/// The system call, if it creates processes or threads.
fn syscall_site(image: &Image<'_>, system: &function::SyscallInstruction) -> Option<SyscallSite> {
    let number = system.number?;
    let creation = image.machine().creation_syscall(number)?;
    let from = system.preceding.len().saturating_sub(SHOWN);
    let lines = system
        .preceding
        .iter()
        .skip(from)
        .map(|(address, length)| disassembled_line(image, *address, *length));
    Some(SyscallSite {
        address: system.address,
        next_address: system.address.checked_add(u64::from(system.length))?,
        lines: lines.collect(),
        number,
        creation,
        flags: system.first_argument.filter(|_| creation == CreationSyscall::Clone).map(CloneFlags::of_clone),
    })
}

/// What is exported under the system call's name, unless it is on the path or is what was asked about.
fn bypassed_exports(libraries: &[Image<'_>], path: &CallPath, symbol: &str) -> Vec<String> {
    let name = path.site.creation.name();
    if name == symbol {
        return Vec::new();
    }
    let bypassed = |(library, image): (usize, &Image<'_>)| {
        let address = image.find(name)?;
        let is_on_path = path.steps.iter().any(|step| (step.library, step.address) == (library, address));
        let mut names = image.names(address).into_iter().filter(|_| !is_on_path);
        names.find(|known| known.symbol == name && known.exported).map(ToString::to_string)
    };
    libraries.iter().enumerate().filter_map(bypassed).collect()
}
