//! What ran on the processors: stacks of functions, counted.

use serde::{Deserialize, Serialize};
use units::{Nanos, Rate};

/// What processes ran on the processors, looked at so many times a second.
///
/// Stacks share what they have in common: each is the place in [`Profile::calls`] of the function that ran, whose callers are found
/// from there. A number that names one of a list is its place in it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Profile {
    /// The load meanwhile; none: torment made none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<ProfiledLoad>,
    /// The machine's name among those that watch; empty: where torment is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// When it began, in milliseconds since 1970.
    pub at_unix_ms: u64,
    /// How long it went on.
    pub length: Nanos,
    /// Looks a second at each processor.
    pub hz: u32,
    /// Whose samples these are, those that they started included.
    pub processes: Vec<ProfiledProcess>,
    /// Times that one of them was found on a processor: each stands for 1 ÷ `hz` of processor time.
    pub samples: u64,
    /// Processor time of the same processes in the same time by the kernel's own account (/proc/PID/stat), in ticks of
    /// 10 ms; none if it could not be read. Of processes that ended meanwhile only what their parents waited for is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_time: Option<Nanos>,
    /// Samples that the kernel dropped, because nobody took them in time; whose is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Of `samples`, those whose stack is not in `stacks`, because there were too many different ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other: u64,
    /// Of `samples`, those whose stack could not be followed to its root.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated: u64,
    /// Whether what the kernel does for them could not be seen: then a stack that ends in the kernel ends at the call to it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub without_kernel: bool,
    /// Requests answered meanwhile; none: without a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Names of threads without their numbers.
    pub threads: Vec<String>,
    /// Programs, libraries, the kernel.
    pub modules: Vec<CodeModule>,
    /// Functions.
    pub functions: Vec<CodeFunction>,
    /// Who calls whom; callers stand before those that they call.
    pub calls: Vec<CallNode>,
    /// How often each stack was seen.
    pub stacks: Vec<StackCount>,
}

/// What load there was while the target was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProfiledLoad {
    /// On which side of its limit.
    pub side: LoadSide,
    /// Offered rate; none of a closed loop.
    pub rate: Option<Rate>,
}

/// On which side of the target's limit a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadSide {
    /// The target holds it.
    Well,
    /// It does not.
    Above,
}

/// A process whose samples are in a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledProcess {
    /// Its number, as torment sees it.
    pub pid: u32,
    /// The kernel's name of it.
    pub name: String,
}

/// A file of code, or what stands for one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeModule {
    /// The file's name without its folder; `[kernel]`, `[vdso]`.
    pub name: String,
    /// Why its functions have no names; none if they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nameless: Option<UnnamedReason>,
}

/// Why the functions of a module have no names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnnamedReason {
    /// Its names were stripped, and no file of them was found; its build id in hexadecimal, if it has one.
    Stripped {
        /// By it the file of names is found.
        build_id: Option<String>,
    },
    /// It could not be read.
    Unreadable {
        /// Why, in words.
        why: String,
    },
    /// Made while the program ran, without a map of it.
    Generated,
    /// The kernel does not tell where its functions are.
    Hidden,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodeFunction {
    /// As it is written; of a module without names, that of the module in brackets.
    pub name: String,
    /// Its module.
    pub module: u32,
    /// Where it is written; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A function called from a certain place: 1 + the place of its caller in [`Profile::calls`], 0 if it has none; and the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallNode(pub u32, pub u32);

impl CallNode {
    /// A function and the place of its caller.
    pub fn new(caller: Option<u32>, function: u32) -> Self {
        Self(caller.map_or(0, |caller| caller.saturating_add(1)), function)
    }

    /// The place of its caller.
    pub fn caller(self) -> Option<u32> {
        self.0.checked_sub(1)
    }

    /// Which function.
    pub fn function(self) -> u32 {
        self.1
    }
}

/// How often a stack was seen: thread, the place of its innermost call, samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackCount(pub u32, pub u32, pub u64);

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(said: &bool) -> bool {
    !said
}

impl Profile {
    /// The functions of a stack, the one that ran first. What a damaged record has is left out, and ends.
    pub fn frames(&self, stack: StackCount) -> impl Iterator<Item = u32> {
        let mut next = Some(stack.1);
        std::iter::from_fn(move || {
            let at = next?;
            let call = self.calls.get(at as usize)?;
            // Callers stand before whom they call: whatever is read, it comes to an end.
            next = call.caller().filter(|caller| *caller < at);
            Some(call.function()).filter(|function| (*function as usize) < self.functions.len())
        })
    }

    /// Processor time that these samples stand for.
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
