//! The binary as a user types it. `TORMENT_BIN` names another than the one that was built beside the tests.

mod alone;
mod anatomy;
mod bad_input;
mod circles;
mod cluster;
mod doctor;
mod floors;
mod libraries;
mod load;
mod manual;
mod names;
mod pictures;
mod program;
mod reference;
