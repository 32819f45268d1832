//! `torment profile`: the function that ran most, then the tables.

use super::unfinished;
use crate::document::indent_all;
use crate::{RunView, Text, Tone, looks, profile};
use record::Verdict;

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let first = indent_all(headline_lines(view));
    let seen = view.places.iter().flat_map(|place| &place.closer_looks);
    let waiting = indent_all(seen.flat_map(looks::look_lines));
    let apart = (!waiting.is_empty()).then(Text::empty);
    first
        .into_iter()
        .chain(view.profiles.iter().flat_map(profile::lines))
        .chain(waiting)
        .chain(apart)
        .collect()
}

/// The most frequent function, or the state.
pub(super) fn headline_lines(view: &RunView) -> Vec<Text> {
    let most = match view.verdict() {
        Some(Verdict::Profiled { most: Some((name, share)), .. }) => {
            let text = format!("{:.0} % of its processor time", share * 100.0);
            Some(Text::new(Tone::Strong, text).with_plain(" is in ").with_span(Tone::Strong, name))
        }
        _ => None,
    };
    unfinished(view).into_iter().chain(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Event;
    use record::watch::{ApplicationFrame, CloserLook, StackGroup};

    #[test]
    fn what_waits_stands_below_what_ran() {
        let at = StackGroup {
            group: "worker-N".to_owned(),
            state: "futex".to_owned(),
            frame: "pool::take".to_owned(),
            asked_by: Some(ApplicationFrame { method: "shop::find".to_owned(), place: None }),
            threads: 38,
        };
        let look = CloserLook::Stacks { pid: 0, took_ns: 12_000_000, at: vec![at] };
        let place = String::new();
        let view = RunView::from_events(&[
            Event::Profiled { profile: Box::default() },
            Event::Looked { trial: 0, place, look },
        ]);
        let said: Vec<String> = lines(&view).iter().map(|line| line.to_string().trim().to_owned()).collect();
        let head = said.iter().position(|line| line == "threads that wait, by their stacks (12 ms)");
        let head = head.unwrap_or_else(|| panic!("{said:#?}"));
        assert_eq!(said[head + 1], "38 × worker-N futex in pool::take, asked by shop::find");
    }
}
