//! What the kernel does when it is asked directly.

mod arrival;
mod crowd;
mod descriptors;
mod mappings;
