//! Starts and stops what a plan names, and leaves nothing behind: no process, no control group, no file.
