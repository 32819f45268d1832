//! Each rule against windows made by hand: what it says, and that its neighbours keep quiet.

mod checkpoints;
mod downstream;
mod event_loop;
mod freeze;
mod generator;
mod hidden_pool;
mod java;
mod network;
mod nothing;
mod pool;
mod postgres;
mod processors;
mod refusals;
mod workers;
