//! Which sizes are worth measuring.

use std::fs::read_to_string;
use units::Bytes;

/// Sizes from `first` to `last` inclusive, `steps` per doubling, each a multiple of `grain`.
pub fn size_ladder(first: Bytes, last: Bytes, steps: u32, grain: Bytes) -> Vec<Bytes> {
    let grain = grain.0.max(1);
    let whole = |size: f64| Bytes(((size / grain as f64).round() as u64).max(1) * grain);
    let doublings = (last.0 as f64 / first.0.max(1) as f64).log2().max(0.0);
    let rungs = (doublings * f64::from(steps)).ceil() as u32;
    let mut sizes: Vec<Bytes> = (0..rungs)
        .map(|rung| whole(first.0 as f64 * 2_f64.powf(f64::from(rung) / f64::from(steps))))
        .chain([whole(last.0 as f64)])
        .collect();
    sizes.dedup();
    sizes
}

/// The first processor's data caches by size, as the kernel knows them: level and size. Empty in
/// virtual machines that do not report them.
pub fn processor_caches() -> Vec<(u32, Bytes)> {
    read_caches("/sys/devices/system/cpu/cpu0/cache")
}

fn read_caches(folder: &str) -> Vec<(u32, Bytes)> {
    let one = |index: u32| {
        let read = |name: &str| {
            read_to_string(format!("{folder}/index{index}/{name}")).ok().map(|text| text.trim().to_owned())
        };
        let (level, size) = (read("level")?.parse().ok()?, read("size")?.parse().ok()?);
        (read("type")? != "Instruction").then_some((level, size))
    };
    let mut all: Vec<(u32, Bytes)> = (0..16).filter_map(one).collect();
    all.sort_unstable();
    all.dedup_by_key(|(level, _)| *level);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs() {
        let mib = |sizes: &[Bytes]| sizes.iter().map(|size| size.0 >> 20).collect::<Vec<u64>>();
        let of = |first: u64, last: u64, steps| {
            size_ladder(Bytes(first << 20), Bytes(last << 20), steps, Bytes(1 << 20))
        };
        assert_eq!(mib(&of(128, 2048, 2)), [128, 181, 256, 362, 512, 724, 1024, 1448, 2048]);
        assert_eq!(mib(&of(128, 1000, 1)), [128, 256, 512, 1000]);
        assert_eq!(mib(&of(1, 1, 2)), [1]);
        assert_eq!(mib(&of(8, 4, 2)), [4]);
    }

    #[test]
    fn caches_are_read_as_the_kernel_writes_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let files = [
            ("0", "1", "Data", "32K"),
            ("1", "1", "Instruction", "32K"),
            ("2", "2", "Unified", "1024K"),
            ("3", "3", "Unified", "32768K"),
        ];
        for (index, level, kind, size) in files {
            let at = folder.path().join(format!("index{index}"));
            std::fs::create_dir(&at).expect("a temporary folder");
            for (name, value) in [("level", level), ("type", kind), ("size", size)] {
                std::fs::write(at.join(name), format!("{value}\n")).expect("a temporary folder");
            }
        }
        let path = folder.path().to_str().expect("a path of ours");
        assert_eq!(read_caches(path), [(1, Bytes(32 << 10)), (2, Bytes(1 << 20)), (3, Bytes(32 << 20))]);
        assert!(read_caches("/no/such/folder").is_empty());
    }
}
