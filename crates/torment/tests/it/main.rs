//! The binary as a user runs it. `TORMENT_BIN` names another than the one built with the tests.

mod anatomy;
mod bad_input;
mod cluster;
mod doctor;
mod layers;
mod libraries;
mod load;
mod manual;
mod module_cycles;
mod names;
mod pictures;
mod program;
mod reference;
mod self_contained;
