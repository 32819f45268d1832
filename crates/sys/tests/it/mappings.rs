//! Exhausting mappings, in a process where nothing else maps.

use std::fs::read_to_string;
use torment_sys::occupy_maps;

#[test]
fn mappings_are_taken() {
    if !testbed::is_own_process("mappings::mappings_are_taken") {
        return;
    }
    let maps = || read_to_string("/proc/self/maps").expect("every Linux has it").lines().count();
    let before = maps();
    occupy_maps(1000).expect("there is room for so few");
    assert!(maps() >= before + 990, "{before} {}", maps());
    occupy_maps(0).expect("nothing is asked");
    assert!(occupy_maps(u64::MAX).is_err());
}
