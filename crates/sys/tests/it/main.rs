//! What the kernel does when called directly.

mod arrival;
mod crowd;
mod descriptors;
mod mappings;
