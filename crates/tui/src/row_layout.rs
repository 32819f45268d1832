//! Allots the rows of a screen.

/// A part's request for rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowRequest {
    /// Which part.
    pub part: usize,
    /// With fewer it shows nothing.
    pub min: u16,
    /// More are useless.
    pub max: u16,
}

/// Allots rows to the parts: requests are served in order, as far as rows are left. A part may make another request, later, for more.
pub(crate) fn allot_rows<const PARTS: usize>(room: u16, asks: &[RowRequest]) -> [u16; PARTS] {
    let mut given = [0; PARTS];
    let mut left = room;
    for ask in asks {
        let more = ask.max.saturating_sub(given[ask.part]).min(left);
        if given[ask.part] + more >= ask.min {
            given[ask.part] += more;
            left -= more;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_served_first() {
        let ask = |part, least, most| RowRequest { part, min: least, max: most };
        let asks = [ask(1, 1, 2), ask(0, 3, 4), ask(2, 1, 1), ask(1, 1, 9)];
        for (room, expected) in [
            (0, [0, 0, 0]),
            (1, [0, 1, 0]),
            (4, [0, 3, 1]),
            (5, [3, 2, 0]),
            (7, [4, 2, 1]),
            (12, [4, 7, 1]),
            (40, [4, 9, 1]),
        ] {
            assert_eq!(allot_rows::<3>(room, &asks), expected, "{room}");
        }
    }
}
