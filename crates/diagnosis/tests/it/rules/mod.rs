//! Each rule against windows made by hand: what it says, and that its neighbours keep quiet.

mod behind;
mod checkpoints;
mod event_loop;
mod freeze;
mod generator;
mod inside;
mod java;
mod network;
mod nothing;
mod pool;
mod postgres;
mod processors;
mod refusals;
mod workers;
