//! Real loads over real sockets, each held against what the other side saw.

mod bodies;
mod flows;
mod hold;
mod http2;
mod null;
mod parts;
mod second_opinion;
mod sql;
mod truths;
