//! Locates the caller of a compiled method whose frame is not yet, or no longer, complete: from the
//! instructions around the interruption.

/// Where the return address is at an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerLocation {
    /// At the end of the complete frame.
    Framed,
    /// At the stack pointer, or in the link register.
    Frameless,
    /// Above the saved frame pointer, which is at the stack pointer.
    Pushed,
}

/// Instructions around the next one.
pub struct Instructions<'a> {
    pub before: &'a [u8],
    /// From the next one on.
    pub after: &'a [u8],
}

/// `push %rbp`, `pop %rbp`, `ret`.
const PUSH: u8 = 0x55;
const POP: u8 = 0x5D;
const RETURN: u8 = 0xC3;

impl Instructions<'_> {
    /// For an x86-64 method whose frame is not complete. It starts: stack bang, `push %rbp`, `sub
    /// $SIZE,%rsp`.
    pub fn entering(&self) -> CallerLocation {
        // With a 1-byte or 4-byte size; after it the frame is complete.
        let subtracts = |at: &[u8; 3]| at[0] == 0x48 && (at[1] == 0x81 || at[1] == 0x83) && at[2] == 0xEC;
        if self.before.array_windows::<3>().any(subtracts) {
            return CallerLocation::Framed;
        }
        if self.before.last() == Some(&PUSH) || self.before.ends_with(&[PUSH, 0x48, 0x8B, 0xEC]) {
            return CallerLocation::Pushed;
        }
        CallerLocation::Frameless
    }

    /// For an x86-64 method whose frame was complete. It ends: `add $SIZE,%rsp`, `pop %rbp`, safepoint
    /// poll, `ret`.
    pub fn leaving(&self) -> CallerLocation {
        let is = |pattern: &[u8]| self.after.starts_with(pattern);
        let returns_after = |bytes: usize| self.after.get(bytes) == Some(&RETURN);
        let popped = self.before.last() == Some(&POP);
        if is(&[POP]) {
            return CallerLocation::Pushed;
        }
        let asks = [
            // JDK 17: `cmp POLL(%r15),%rsp`, `ja`.
            popped && (is(&[0x49, 0x3B, 0x67]) || is(&[0x49, 0x3B, 0xA7])),
            is(&[0x0F, 0x87]) && returns_after(6),
            // JDK 11: `mov POLL(%r15),%r10`, `test %eax,(%r10)`.
            popped && is(&[0x4D, 0x8B, 0x97]),
            is(&[0x41, 0x85, 0x02]) && returns_after(3),
            // JDK 8: `test %eax,POLL(%rip)`.
            is(&[0x85, 0x05]) && returns_after(6),
        ];
        if is(&[RETURN]) || asks.contains(&true) { CallerLocation::Frameless } else { CallerLocation::Framed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty method, as compiled by JDK 17.
    const EMPTY: &[u8] = &[
        0x89, 0x84, 0x24, 0x00, 0xC0, 0xFE, 0xFF, // mov %eax,-0x14000(%rsp)
        0x55, // push %rbp
        0x48, 0x83, 0xEC, 0x10, // sub $0x10,%rsp
        0x48, 0x83, 0xC4, 0x10, // add $0x10,%rsp
        0x5D, // pop %rbp
        0x49, 0x3B, 0xA7, 0x48, 0x03, 0x00, 0x00, // cmp 0x348(%r15),%rsp
        0x0F, 0x87, 0x01, 0x00, 0x00, 0x00, // ja
        0xC3, // ret
    ];

    #[test]
    fn from_the_first_instruction_to_the_last() {
        for (at, entering, leaving) in [
            (0, Some(CallerLocation::Frameless), None),
            (7, Some(CallerLocation::Frameless), None),
            (8, Some(CallerLocation::Pushed), None),
            (12, Some(CallerLocation::Framed), Some(CallerLocation::Framed)),
            (16, None, Some(CallerLocation::Pushed)),
            (17, None, Some(CallerLocation::Frameless)),
            (24, None, Some(CallerLocation::Frameless)),
            (30, None, Some(CallerLocation::Frameless)),
        ] {
            let (before, after) = EMPTY.split_at(at);
            let code = Instructions { before, after };
            assert_eq!(entering.unwrap_or(code.entering()), code.entering(), "{at}");
            assert_eq!(leaving.unwrap_or(code.leaving()), code.leaving(), "{at}");
        }
        let none = Instructions { before: &[], after: &[] };
        assert_eq!((none.entering(), none.leaving()), (CallerLocation::Frameless, CallerLocation::Framed));
    }
}
