//! Each rule against hand-made windows: what it reports, and that similar rules stay silent.

mod checkpoints;
mod delayed_acks;
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
