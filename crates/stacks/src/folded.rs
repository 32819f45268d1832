use record::{Profile, StackCount};
use std::fmt::Write;

/// A profile as folded stacks, one per line: thread and functions from the root, separated by semicolons,
/// and the number of samples. Read by flame graph tools, speedscope and `inferno`.
pub fn format_folded(profile: &Profile) -> String {
    let mut text = String::new();
    for stack in &profile.stacks {
        let StackCount(thread, _, samples) = *stack;
        text.push_str(&without_marks(profile.thread(thread)));
        let mut frames: Vec<u32> = profile.frames(*stack).collect();
        frames.reverse();
        for function in frames {
            text.push(';');
            text.push_str(&without_marks(&profile.functions[function as usize].name));
        }
        let _ = writeln!(text, " {samples}");
    }
    text
}

/// Replaces the format's special characters.
fn without_marks(name: &str) -> String {
    let plain = |c: char| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::profile;

    #[test]
    fn a_line_for_each_stack() {
        let mut profile = profile(&[("abc", 4), ("a", 1)]);
        profile.functions[1].name = "run(int; x)\n".to_owned();
        assert_eq!(format_folded(&profile), "worker-N;a;run(int: x) ;c 4\nworker-N;a 1\n");
    }
}
