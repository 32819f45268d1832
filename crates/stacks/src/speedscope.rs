use record::Profile;
use serde_json::{Value, json};

/// A profile for speedscope and the Firefox Profiler: a sampled profile without order, whose stacks begin
/// with the thread's name; weights in seconds of processor time.
pub fn to_speedscope(profile: &Profile) -> Value {
    let functions = profile.functions.iter().map(|function| {
        let module = profile.modules.get(function.module as usize).map(|module| &module.name);
        json!({ "name": function.name, "file": function.file.as_ref().or(module), "line": function.line })
    });
    let threads = profile.threads.iter().map(|name| json!({ "name": name }));
    let frames: Vec<Value> = functions.chain(threads).collect();
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    for stack in &profile.stacks {
        let mut frames: Vec<u64> = profile.frames(*stack).map(u64::from).collect();
        if (stack.0 as usize) < profile.threads.len() {
            frames.push(profile.functions.len() as u64 + u64::from(stack.0));
        }
        frames.reverse();
        samples.push(frames);
        weights.push(profile.time_of(stack.2).as_secs_f64());
    }
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "torment",
        "shared": { "frames": frames },
        "profiles": [{
            "type": "sampled",
            "name": "processor time",
            "unit": "seconds",
            "startValue": 0,
            "endValue": weights.iter().sum::<f64>(),
            "samples": samples,
            "weights": weights,
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::profile;

    #[test]
    fn stacks_begin_with_their_thread() {
        let speedscope = to_speedscope(&profile(&[("abc", 99), ("a", 198)]));
        let shown = &speedscope["profiles"][0];
        assert_eq!(shown["samples"], json!([[3, 0, 1, 2], [3, 0]]));
        assert_eq!((&shown["weights"], &shown["endValue"]), (&json!([1.0, 2.0]), &json!(3.0)));
        assert_eq!(speedscope["shared"]["frames"][3]["name"], "worker-N");
        assert_eq!(speedscope["shared"]["frames"][2]["file"], "two");
    }
}
