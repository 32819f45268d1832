//! Turns collected addresses into a profile of named functions.

use crate::code_files::hexadecimal;
use crate::collector::{FrameLocation, MAX_NODES, StackCollector};
use crate::demangle::demangle;
use crate::runtime_names::RuntimeFunction;
use crate::runtimes::namespace_tid;
use crate::symbol_lists;
use crate::symbols::Symbols;
use record::{CodeFunction, CodeModule, Profile, StackCount, UnnamedReason};
use stacks::CallTree;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Larger symbol lists are read up to this size.
const MAX_TEXT: u64 = 256 << 20;

/// Adds what was collected, with its names, to the profile's other fields.
pub fn symbolize(collector: StackCollector, profile: Profile) -> Profile {
    let mut names = Symbolizer::default();
    let functions: Vec<Vec<u32>> =
        collector.locations.iter().map(|code| names.functions(*code, &collector)).collect();
    // Merges addresses of one function, and expands inlined functions.
    let mut tree = CallTree::bounded(MAX_NODES);
    let mut places: Vec<Option<u32>> = Vec::with_capacity(collector.tree.nodes().len());
    for node in collector.tree.nodes() {
        let caller = node.caller().map(|caller| places[caller as usize]);
        let mut functions = functions[node.function() as usize].iter();
        places.push(match caller {
            // Without room for the caller, there is none for the callee.
            Some(None) => None,
            caller => functions
                .try_fold(caller.flatten(), |at, function| tree.child(at, *function).map(Some))
                .flatten(),
        });
    }
    let (mut counts, mut other) = (BTreeMap::<(u32, u32), u64>::new(), collector.other);
    for ((thread, node), samples) in &collector.counts {
        match places[*node as usize] {
            Some(node) => *counts.entry((*thread, node)).or_default() += samples,
            None => other += samples,
        }
    }
    Profile {
        processes: collector.processes,
        samples: collector.samples,
        lost: collector.lost,
        other,
        truncated: collector.truncated,
        threads: collector.threads,
        modules: names.modules,
        functions: names.functions,
        calls: tree.into_nodes(),
        stacks: counts
            .into_iter()
            .map(|((thread, place), samples)| StackCount(thread, place, samples))
            .collect(),
        ..profile
    }
}

/// The names so far.
#[derive(Default)]
struct Symbolizer {
    functions: Vec<CodeFunction>,
    /// By module and address of the function, which tells it from others of the same name.
    function_numbers: HashMap<(u32, Vec<u8>), u32>,
    modules: Vec<CodeModule>,
    module_numbers: HashMap<CodeModule, u32>,
    kernel: Option<Symbols>,
    /// Perf maps by process.
    perf_maps: HashMap<u32, Symbols>,
}

impl Symbolizer {
    /// The function numbers of a frame, at least one, outermost first.
    fn functions(&mut self, code: FrameLocation, collector: &StackCollector) -> Vec<u32> {
        let number = match code {
            FrameLocation::Named(frame) => {
                return collector.names.functions(frame).rev().map(|made| self.add_named(made)).collect();
            }
            FrameLocation::Kernel(address) => {
                let kernel = self.kernel.take().unwrap_or_else(|| {
                    symbol_lists::parse_kallsyms(&text(Path::new("/proc/kallsyms")).unwrap_or_default())
                });
                let nameless = kernel.is_empty().then_some(UnnamedReason::Hidden);
                let number = self.add("[kernel]", nameless, kernel.find(address).map(|(_, name)| name));
                self.kernel = Some(kernel);
                number
            }
            FrameLocation::Java => {
                let why = "its memory was not allowed to be read; run torment as root".to_owned();
                self.add("[Java]", Some(UnnamedReason::Unreadable { why }), None)
            }
            FrameLocation::Generated(pid, address) => {
                let perf_map = self.perf_maps.remove(&pid).unwrap_or_else(|| read_perf_map(pid));
                let nameless = perf_map.is_empty().then_some(UnnamedReason::Generated);
                let number = self.add("[generated]", nameless, perf_map.find(address).map(|(_, name)| name));
                self.perf_maps.insert(pid, perf_map);
                number
            }
            FrameLocation::File(file, address) => {
                match collector.files.get(file).map(|file| (file, &file.elf)) {
                    None => self.add("[unknown]", None, None),
                    Some((file, Err(why))) => {
                        self.add(&file.name, Some(UnnamedReason::Unreadable { why: why.clone() }), None)
                    }
                    Some((file, Ok(elf))) => {
                        let build_id = elf.build_id.as_deref().map(hexadecimal);
                        // What the kernel maps into processes has no file with more symbols.
                        let is_file = !file.name.starts_with('[');
                        let nameless = (!elf.has_all_functions && is_file)
                            .then_some(UnnamedReason::Stripped { build_id });
                        // A stripped library has names for exported functions, which must not be given to
                        // the unnamed functions between them.
                        self.add(&file.name, nameless, elf.symbols.find(address).map(|(_, name)| name))
                    }
                }
            }
        };
        vec![number]
    }

    /// The number of a function; one without a name stands for all such of its module.
    fn add(&mut self, module: &str, nameless: Option<UnnamedReason>, name: Option<&[u8]>) -> u32 {
        let module = self.module(module, nameless);
        let symbol = name.unwrap_or_default().to_vec();
        let functions = &mut self.functions;
        *self.function_numbers.entry((module, symbol)).or_insert_with_key(|(_, symbol)| {
            let name = match symbol.is_empty() {
                true => self.modules[module as usize].name.clone(),
                false => demangle(symbol),
            };
            let name = match (symbol.is_empty(), name.starts_with('[')) {
                (true, false) => format!("[{name}]"),
                _ => name,
            };
            functions.push(CodeFunction { name, module, file: None, line: None });
            functions.len() as u32 - 1
        })
    }

    /// The number of a function that its process named.
    fn add_named(&mut self, function: &RuntimeFunction) -> u32 {
        let module = self.module(&function.module, None);
        let RuntimeFunction { name, file, line, .. } = function;
        let functions = &mut self.functions;
        *self.function_numbers.entry((module, name.clone().into_bytes())).or_insert_with(|| {
            let (name, file, line) = (name.clone(), file.clone(), *line);
            functions.push(CodeFunction { name, module, file, line });
            functions.len() as u32 - 1
        })
    }

    fn module(&mut self, name: &str, nameless: Option<UnnamedReason>) -> u32 {
        let module = CodeModule { name: name.to_owned(), nameless };
        let modules = &mut self.modules;
        *self.module_numbers.entry(module).or_insert_with_key(|module| {
            modules.push(module.clone());
            modules.len() as u32 - 1
        })
    }
}

/// Reads the perf map of a process, which is named after its own view of its PID.
fn read_perf_map(pid: u32) -> Symbols {
    let name = format!("perf-{}.map", namespace_tid(pid, pid).unwrap_or(pid));
    let places = [format!("/proc/{pid}/root/tmp/{name}"), format!("/tmp/{name}")];
    let found = places.iter().find_map(|place| text(Path::new(place)));
    found.map_or_else(Symbols::default, |text| symbol_lists::parse_perf_map(&text))
}

fn text(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|about| about.is_file()))?;
    let mut text = Vec::new();
    file.take(MAX_TEXT).read_to_end(&mut text).ok()?;
    Some(text)
}
