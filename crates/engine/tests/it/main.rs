//! Real loads over real sockets, each checked against what the other side saw.

mod bodies;
mod flows;
mod hold;
mod http2;
mod null;
mod parts;
mod second_opinion;
mod sql;
mod truths;

/// The machine's hiccups only add to what is measured: one quiet try of three is enough, and a wrong engine
/// never has one. Counts are asserted in every try.
fn once_quiet(measure: impl Fn() -> Result<(), String>) {
    let failures: Vec<String> = (0..3).map_while(|_| measure().err()).collect();
    assert!(failures.len() < 3, "{failures:?}");
}
