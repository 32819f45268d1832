use super::*;

fn wanted(ids: &[&str]) -> Vec<PageColumn> {
    ids.iter().map(|id| PageColumn { id: (*id).to_owned(), sources: vec![(*id).to_owned()] }).collect()
}

/// An observation comes before its second, after it, much later, or without any.
#[test]
fn sights_find_their_second() {
    let mut rows = TimelineRows::default();
    let rate = rows.column("rate", false, None);
    let threads = rows.column("threads", false, None);
    rows.push_observed(0.0, 1.0, vec![(threads, 10.0)], true);
    for second in 0..5 {
        let from = f64::from(second);
        rows.push(from, from + 1.0, vec![(rate, 100.0)]);
    }
    assert_eq!(rows.settled(), 3);
    rows.push_observed(3.1, 4.1, vec![(threads, 13.0)], true);
    let before = rows.generation();
    rows.push_observed(1.0, 2.0, vec![(threads, 11.0)], true);
    assert!(rows.generation() > before, "a settled row has changed");
    rows.push_observed(20.0, 21.0, vec![(threads, 20.0)], false);
    rows.flush();
    let timeline = rows.timeline(0, &wanted(&["rate", "threads", "nothing"]));
    assert_eq!(timeline.at, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.001, 20.0]);
    assert_eq!(timeline.columns.len(), 2);
    let expected = [Some(10.0), Some(11.0), None, Some(13.0), None, None, None, Some(20.0)];
    assert_eq!(timeline.columns[1].values, expected);
    assert_eq!(timeline.columns[0].values[4..], [Some(100.0), Some(100.0), None, None]);
    assert!(rows.has_values("threads") && !rows.has_values("nothing"));
}

/// A search runs most trials for a second, and drains for some milliseconds.
#[test]
fn a_load_of_one_second_has_a_length() {
    let mut rows = TimelineRows::default();
    let (rate, waiting) = (rows.column("rate", false, None), rows.column("waiting", false, None));
    for (from, offered) in [(0.0, 50.0), (1.1, 100.0)] {
        rows.push(from, from + 1.0, vec![(rate, offered), (waiting, 1.0)]);
        rows.push(from + 1.0, from + 1.01, vec![(waiting, 0.0)]);
    }
    rows.push(9.0, 10.0, vec![(rate, 7.0)]);
    rows.flush();
    let timeline = rows.timeline(0, &wanted(&["rate", "waiting"]));
    assert_eq!(timeline.at.len(), 7);
    let [first, second] = [Some(50.0), Some(100.0)];
    assert_eq!(timeline.columns[0].values, [first, first, second, second, None, None, Some(7.0)]);
    assert_eq!(timeline.columns[1].values[1], Some(0.0));
}

#[test]
fn a_part_that_comes_late_was_zero_where_the_whole_was_seen() {
    let mut rows = TimelineRows::default();
    let whole = rows.column("threads", false, None);
    rows.push(0.0, 1.0, Vec::new());
    rows.push(1.0, 2.0, vec![(whole, 3.0)]);
    rows.push(2.0, 3.0, vec![(whole, 3.0)]);
    rows.push(3.0, 4.0, vec![(whole, 3.0)]);
    let part = rows.column("threads.running", true, Some(whole));
    rows.push(4.0, 5.0, vec![(whole, 3.0), (part, 1.0)]);
    rows.push(5.0, 6.0, vec![(whole, 3.0)]);
    rows.flush();
    let timeline = rows.timeline(0, &wanted(&["threads.running"]));
    let expected = [None, Some(0.0), Some(0.0), Some(0.0), Some(1.0), Some(0.0)];
    assert_eq!(timeline.columns[0].values, expected);
}

#[test]
fn a_long_run_keeps_its_extremes_in_few_rows() {
    let mut rows = TimelineRows::default();
    let (max, part) = (rows.column("max", false, None), rows.column("part", true, None));
    let seconds = 100_000;
    for second in 0..seconds {
        let from = f64::from(second);
        let value = if second == 77_777 { 1e6 } else { (second % 100) as f32 };
        rows.push(from, from + 1.0, vec![(max, value), (part, 7.0)]);
        assert!(rows.settled() <= MAX_ROWS + 2 && rows.open.len() < 200);
    }
    rows.flush();
    let timeline = rows.timeline(0, &wanted(&["max", "part"]));
    assert!((MAX_ROWS / 4..=MAX_ROWS).contains(&timeline.at.len()), "{}", timeline.at.len());
    assert!(timeline.at.windows(2).all(|pair| pair[0] < pair[1]));
    let place = timeline.columns[0].values.iter().position(|value| *value == Some(1e6)).expect("it survives");
    assert!((timeline.at[place] - 77_777.0).abs() < 130.0, "{}", timeline.at[place]);
    assert!(timeline.columns[0].values.contains(&Some(0.0)));
    assert!(timeline.columns[1].values.iter().all(|value| *value == Some(7.0)));
}
