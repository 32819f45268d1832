//! Reads what the Flight Recorder of a HotSpot machine has written: where its threads were when they were sampled, what
//! they allocated and waited for, and what its collections, its compilers and the whole of it cost. [`read()`] takes the
//! bytes of one or more chunks, one after the other (version 2 of the format, JDK 11 and later).
//!
//! Bytes in, values out. Nothing read here is trusted: whatever the bytes are, the answer is a [`Flight`] or an [`Error`], the work
//! grows with their number alone, and so does what is held. A file that was cut off gives what was complete.
//!
//! What a file does not have, nobody can read from it. Each period the machine samples at most five threads that run Java code and one
//! that is in native code, in turn, however many there are: shares are right then, and sums are not. A thread is interrupted
//! wherever it is, not at the next safepoint. But a stack that cannot be walked from there is no sample; and in compiled code the compiler
//! knows lines, and which inlined method they are of, at some places only, unless the machine runs with
//! `-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints`. Without, the time of a loop may be that of a method beside it which was
//! compiled into the same caller, and by JDK 25 of the caller itself (at the line of the call).
//! Stacks deeper than the recorder was set to lose their outer frames ([`JavaStack::truncated`]). Threads of the machine itself, its
//! collectors and compilers, are not sampled at all.

mod chunk;
mod cursor;
mod error;
mod intern;
mod metadata;
mod name;
mod nouns;
mod read;

pub use error::Error;
pub use name::class_name;
pub use nouns::{
    Compiled, Flight, FrameKind, JavaAllocation, JavaCollection, JavaFrame, JavaLoad, JavaMethod, JavaSample,
    JavaStack, JavaThread, JavaWait, Waiting,
};
pub use read::read;
