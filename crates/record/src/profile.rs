//! CPU profiles: stacks of functions, counted.

use serde::{Deserialize, Serialize};
use units::{Nanos, Rate};

/// What processes ran on the processors, sampled at a fixed frequency.
///
/// Stacks share common callers: each is the index in [`Profile::calls`] of the function that ran, from which its callers are found.
/// Numbers that refer to a list are indices.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Profile {
    /// The load meanwhile; none: no load by torment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<ProfiledLoad>,
    /// The observing machine's name; empty: where torment is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Begin, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// Its duration.
    pub length: Nanos,
    /// Samples per second and processor.
    pub hz: u32,
    /// The sampled processes, with those they started.
    pub processes: Vec<ProfiledProcess>,
    /// Samples in which one of them was on a processor: each stands for 1 ÷ `hz` of processor time.
    pub samples: u64,
    /// Processor time of the same processes in the same time by the kernel's own account (/proc/PID/stat), in ticks of 10 ms; none if
    /// unreadable. For processes that ended meanwhile it includes only what their parents waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_time: Option<Nanos>,
    /// Samples dropped by the kernel because the buffer was full; whose is unknown.
    #[serde(default, skip_serializing_if = "crate::slice::is_zero")]
    pub lost: u64,
    /// Of `samples`, those whose stack is not in `stacks`, because there were too many distinct ones.
    #[serde(default, skip_serializing_if = "crate::slice::is_zero")]
    pub other: u64,
    /// Of `samples`, those whose stack could not be unwound to its root.
    #[serde(default, skip_serializing_if = "crate::slice::is_zero")]
    pub truncated: u64,
    /// Whether kernel frames were unavailable: then a stack that ends in the kernel ends at the system call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_kernel: bool,
    /// Requests answered meanwhile; none without a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Thread names, without their numbers.
    pub threads: Vec<String>,
    /// Programs, libraries, the kernel.
    pub modules: Vec<CodeModule>,
    /// Functions.
    pub functions: Vec<CodeFunction>,
    /// The call tree; callers come before callees.
    pub calls: Vec<CallNode>,
    /// How often each stack was seen.
    pub stacks: Vec<StackCount>,
}

/// The load during a profile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProfiledLoad {
    /// Its side of the limit.
    pub side: LoadSide,
    /// Offered rate; none for a closed loop.
    pub rate: Option<Rate>,
}

/// The side of the target's limit that a load is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadSide {
    /// The target holds it.
    Well,
    /// The target does not hold it.
    Above,
}

/// A process with samples in a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledProcess {
    /// Its pid, as torment sees it.
    pub pid: u32,
    /// Its kernel name.
    pub name: String,
}

/// A file of code, or a stand-in for one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeModule {
    /// The file's base name; `[kernel]`, `[vdso]`.
    pub name: String,
    /// Why its functions have no names; none if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nameless: Option<UnnamedReason>,
}

/// Why the functions of a module have no names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnnamedReason {
    /// Its symbols were stripped, and no symbol file was found; its build id in hexadecimal, if it has one.
    Stripped {
        /// Identifies the symbol file.
        build_id: Option<String>,
    },
    /// It could not be read.
    Unreadable {
        /// The reason.
        why: String,
    },
    /// Generated at run time, without a map.
    Generated,
    /// The kernel hides its functions' addresses.
    Hidden,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeFunction {
    /// Its name; in a module without names, that of the module in brackets.
    pub name: String,
    /// Index of its module.
    pub module: u32,
    /// Its source file; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A call-tree node: 1 + its caller's index in [`Profile::calls`], 0 if it has none; and the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallNode(pub u32, pub u32);

impl CallNode {
    /// A function and its caller's index.
    pub fn new(caller: Option<u32>, function: u32) -> Self {
        Self(caller.map_or(0, |caller| caller.saturating_add(1)), function)
    }

    /// Its caller's index.
    pub fn caller(self) -> Option<u32> {
        self.0.checked_sub(1)
    }

    /// Its function's index.
    pub fn function(self) -> u32 {
        self.1
    }
}

/// A stack's count: thread, index of its innermost call, samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackCount(pub u32, pub u32, pub u64);

impl Profile {
    /// The functions of a stack, innermost first. Invalid indices of a damaged record are left out and end it.
    pub fn frames(&self, stack: StackCount) -> impl Iterator<Item = u32> {
        let mut next = Some(stack.1);
        std::iter::from_fn(move || {
            let at = next?;
            let call = self.calls.get(at as usize)?;
            // Callers come before callees: whatever is read, this terminates.
            next = call.caller().filter(|caller| *caller < at);
            Some(call.function()).filter(|function| (*function as usize) < self.functions.len())
        })
    }

    /// The name of the threads at this index; empty for an invalid one.
    pub fn thread(&self, index: u32) -> &str {
        self.threads.get(index as usize).map_or("", String::as_str)
    }

    /// The name of the module at this index; empty for an invalid one.
    pub fn module(&self, index: u32) -> &str {
        self.modules.get(index as usize).map_or("", |module| module.name.as_str())
    }

    /// Processor time that this many samples stand for.
    pub fn time_of(&self, samples: u64) -> Nanos {
        Nanos((samples as f64 * 1e9 / f64::from(self.hz.max(1))).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_short_and_come_back() {
        let function = |name: &str| CodeFunction { name: name.to_owned(), module: 0, file: None, line: None };
        let profile = Profile {
            hz: 99,
            samples: 5,
            functions: vec![function("main"), function("work")],
            calls: vec![CallNode::new(None, 0), CallNode::new(Some(0), 1), CallNode::new(Some(1), 1)],
            stacks: vec![StackCount(0, 2, 5)],
            ..Profile::default()
        };
        let text = serde_json::to_string(&profile).expect("it can be written");
        assert!(text.contains("\"calls\":[[0,0],[1,1],[2,1]],\"stacks\":[[0,2,5]]"), "{text}");
        assert_eq!(serde_json::from_str::<Profile>(&text).expect("it can be read"), profile);
        assert_eq!(profile.frames(profile.stacks[0]).collect::<Vec<_>>(), [1, 1, 0]);
        assert_eq!(profile.time_of(99), Nanos::from_secs(1));
    }

    #[test]
    fn a_damaged_stack_ends() {
        let calls = vec![CallNode(2, 0), CallNode(1, 7), CallNode(3, 0)];
        let functions = vec![CodeFunction { name: String::new(), module: 9, file: None, line: None }];
        let profile = Profile { calls, functions, ..Profile::default() };
        for (at, frames) in [(0, 1), (1, 0), (2, 1), (9, 0)] {
            assert_eq!(profile.frames(StackCount(0, at, 1)).count(), frames, "{at}");
        }
    }
}
