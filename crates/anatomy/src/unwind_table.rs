//! Function starts from the table for stack unwinding (`.eh_frame_hdr`, Linux Standard Base, section "DWARF
//! Extensions"). It lists every function, even in a library without a symbol table.

/// Encodings of its numbers.
const SDATA4_PCREL: u8 = 0x1b;
const UDATA4: u8 = 0x03;
const SDATA4_DATAREL: u8 = 0x3b;

/// Sorted function addresses; empty if the table is not of the usual form. `table` lies at `address`.
pub(crate) fn function_starts(table: &[u8], address: u64, big_endian: bool) -> Vec<u64> {
    let Some((&[1, SDATA4_PCREL, UDATA4, SDATA4_DATAREL], rest)) = table.split_first_chunk() else {
        return Vec::new();
    };
    let word = |bytes: &[u8; 4]| {
        if big_endian { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) }
    };
    // After the pointer to `.eh_frame`: the count, then pairs of a function and its entry there.
    let Some((_, rest)) = rest.split_first_chunk::<4>() else { return Vec::new() };
    let Some((count, rest)) = rest.split_first_chunk() else { return Vec::new() };
    let pairs = rest.as_chunks::<8>().0.iter().take(word(count) as usize);
    let start = |pair: &[u8; 8]| {
        let distance = pair.first_chunk().map_or(0, word).cast_signed();
        address.wrapping_add_signed(i64::from(distance))
    };
    let mut starts: Vec<u64> = pairs.map(start).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_before_the_table() {
        let mut table = vec![1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0];
        for distance in [-0x800_i32, -0xf00] {
            table.extend(distance.to_le_bytes());
            table.extend([0; 4]);
        }
        assert_eq!(function_starts(&table, 0x1000, false), [0x100, 0x800]);
        assert_eq!(function_starts(&table[..15], 0x1000, false), [0_u64; 0], "cut short");
        table[0] = 2;
        assert!(function_starts(&table, 0x1000, false).is_empty(), "a version not known here");
    }
}
