use std::collections::BTreeMap;
use std::sync::Arc;

/// What was recorded. Threads, methods and stacks stand once, and are meant by their place in these lists.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Flight {
    /// All that were met.
    pub threads: Vec<JavaThread>,
    /// All that were met.
    pub methods: Vec<JavaMethod>,
    /// All that were met.
    pub stacks: Vec<JavaStack>,
    /// Where threads were found running, in the order of the file, which is that of time for each thread alone.
    pub samples: Vec<JavaSample>,
    /// Some of what was allocated, so many a second.
    pub allocations: Vec<JavaAllocation>,
    /// What threads waited for, longer than was asked for.
    pub waits: Vec<JavaWait>,
    /// Collections of the heap.
    pub collections: Vec<JavaCollection>,
    /// What the compilers made, if it took them longer than was asked for.
    pub compiled: Vec<Compiled>,
    /// What the machine used of the processors, second by second.
    pub loads: Vec<JavaLoad>,
    /// How the recorder was set: `("jdk.ExecutionSample", "period")` ▶ `10 ms`. Of what is read here alone.
    pub settings: BTreeMap<(Arc<str>, Arc<str>), Arc<str>>,
    /// When the first chunk began, in nanoseconds since 1970, by the machine's clock.
    pub from_ns: u64,
    /// For how long chunks say that they lasted, together; 0 for one that was never finished.
    pub lasted_ns: u64,
    /// Bytes were missing or meant nothing: the file was cut off or damaged. What was complete is here.
    pub cut: bool,
    /// Events that were passed over because there were too many.
    pub left_out: u64,
}

impl Flight {
    /// The time between two samples of a thread that runs Java code, in nanoseconds; none if the file does not say.
    pub fn sample_period_ns(&self) -> Option<u64> {
        self.period_ns("jdk.ExecutionSample")
    }

    /// The same of a thread that is in native code.
    pub fn native_period_ns(&self) -> Option<u64> {
        self.period_ns("jdk.NativeMethodSample")
    }

    fn period_ns(&self, event: &str) -> Option<u64> {
        let of = |(of, name): &(Arc<str>, Arc<str>)| **of == *event && **name == *"period";
        let (_, text) = self.settings.iter().find(|(key, _)| of(key))?;
        let (number, unit) = text.split_once(' ')?;
        let unit = match unit {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(unit)
    }
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct JavaThread {
    /// As Java has it, or else the machine; empty for a virtual one without.
    pub name: Arc<str>,
    /// Its number within its own PID namespace; 0 if none is known.
    pub tid: u32,
    /// It has no thread of the system to itself.
    pub is_virtual: bool,
}

/// A method.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct JavaMethod {
    /// Its class: `java.util.HashMap$Node`, without address and number where it was made at run time.
    pub class: Arc<str>,
    /// `getNode`.
    pub name: Arc<str>,
}

/// How code ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameKind {
    /// By the interpreter.
    Interpreted,
    /// Compiled, of any level.
    Compiled,
    /// Compiled into whoever called it.
    Inlined,
    /// Code of a library, of which only the method that leads there is known.
    Native,
    /// Something that is not known here.
    Other,
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct JavaFrame {
    /// Place in [`Flight::methods`].
    pub method: u32,
    /// Line in the source; 0 if that is not known.
    pub line: u32,
    /// How it ran.
    pub kind: FrameKind,
}

/// A stack, the innermost frame first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct JavaStack {
    /// Its frames.
    pub frames: Vec<JavaFrame>,
    /// It was deeper than the recorder keeps (64 frames by default): the outer ones are missing.
    pub truncated: bool,
}

/// A thread was seen running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JavaSample {
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Place in [`Flight::threads`].
    pub thread: Option<u32>,
    /// Place in [`Flight::stacks`].
    pub stack: Option<u32>,
    /// It was in native code, of which the machine does not know whether it ran or waited.
    pub native: bool,
    /// Java says that it could run (`STATE_RUNNABLE`), not that it waited.
    pub runnable: bool,
}

/// Something was allocated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaAllocation {
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Place in [`Flight::threads`].
    pub thread: Option<u32>,
    /// Place in [`Flight::stacks`].
    pub stack: Option<u32>,
    /// Of what class it was.
    pub class: Arc<str>,
    /// What the thread had allocated since its last such event: the sum of these is what all allocated.
    pub weight_bytes: u64,
}

/// What a thread waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiting {
    /// To enter a monitor that another held (`synchronized`).
    Enter,
    /// To be notified (`Object.wait`).
    Notify,
    /// To be unparked: locks, queues and pools of `java.util.concurrent`.
    Park,
}

/// A thread waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaWait {
    /// When it began, in nanoseconds since 1970.
    pub at_ns: u64,
    /// For how long.
    pub duration_ns: u64,
    /// For what.
    pub waiting: Waiting,
    /// Place in [`Flight::threads`].
    pub thread: Option<u32>,
    /// Place in [`Flight::stacks`].
    pub stack: Option<u32>,
    /// The class of the monitor, or of what it was parked on; none where that was not said.
    pub class: Option<Arc<str>>,
    /// Who held the monitor when it was waited for, or who notified: place in [`Flight::threads`].
    pub other: Option<u32>,
}

/// A collection of the heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaCollection {
    /// When it began, in nanoseconds since 1970.
    pub at_ns: u64,
    /// From its beginning to its end, much of it beside the program where the collector works so.
    pub duration_ns: u64,
    /// For how long all threads stood.
    pub paused_ns: u64,
    /// Which collector: `G1New`.
    pub collector: Arc<str>,
    /// Why: `G1 Evacuation Pause`.
    pub cause: Arc<str>,
}

/// A compiler compiled a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compiled {
    /// When it began, in nanoseconds since 1970.
    pub at_ns: u64,
    /// How long it took; without other work for the processors that is what it cost.
    pub duration_ns: u64,
    /// Place in [`Flight::methods`].
    pub method: Option<u32>,
}

/// What the machine used of all processors that it may have, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JavaLoad {
    /// When that was said, in nanoseconds since 1970.
    pub at_ns: u64,
    /// In its own code.
    pub user: f64,
    /// In the kernel's.
    pub system: f64,
}
