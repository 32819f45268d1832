//! Memory of other processes, read while they run: it may be stale the next moment, and is trusted as
//! little as a file.

use rustix::process::Pid;

/// Maximum bytes of a NUL-terminated string.
const LONGEST_TEXT: usize = 128;

/// Readable memory.
pub trait ForeignMemory {
    /// Fills the whole buffer; none: part of it cannot be read.
    fn read(&self, address: u64, into: &mut [u8]) -> Option<()>;

    /// Fills the buffer with equal pieces from these addresses, until one cannot be read; returns how many
    /// were.
    fn pieces(&self, addresses: &[u64], into: &mut [u8]) -> usize {
        let length = into.len() / addresses.len().max(1);
        let mut pieces = addresses.iter().zip(into.chunks_exact_mut(length.max(1)));
        pieces.position(|(address, into)| self.read(*address, into).is_none()).unwrap_or(addresses.len())
    }

    fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.read(address, &mut bytes)?;
        Some(bytes)
    }

    fn array<const LENGTH: usize>(&self, address: u64) -> Option<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.read(address, &mut bytes)?;
        Some(bytes)
    }

    /// An address, or another 8-byte number.
    fn word(&self, address: u64) -> Option<u64> {
        self.array(address).map(u64::from_ne_bytes)
    }

    /// A 4-byte number.
    fn int(&self, address: u64) -> Option<i32> {
        self.array(address).map(i32::from_ne_bytes)
    }

    /// A 2-byte number.
    fn short(&self, address: u64) -> Option<u16> {
        self.array(address).map(u16::from_ne_bytes)
    }

    /// A NUL-terminated string, or its beginning.
    fn text(&self, address: u64) -> Option<String> {
        let mut bytes = vec![0; LONGEST_TEXT];
        // If the next page cannot be read, the string ends within this one.
        let page = rustix::param::page_size() as u64;
        let left = (page - address % page) as usize;
        if self.read(address, &mut bytes).is_none() {
            bytes.truncate(left);
            self.read(address, &mut bytes)?;
        }
        let text = bytes.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct ProcessMemory(pub u32);

impl ForeignMemory for ProcessMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Option<()> {
        let pid = Pid::from_raw(i32::try_from(self.0).ok()?)?;
        sys::read_memory(pid, address, into).ok()
    }

    fn pieces(&self, addresses: &[u64], into: &mut [u8]) -> usize {
        let pid = i32::try_from(self.0).ok().and_then(Pid::from_raw);
        pid.map_or(0, |pid| sys::read_memory_pieces(pid, addresses, into).unwrap_or(0))
    }
}

/// Memory with a prefetched piece, reads from which cost no system call.
pub struct ReadAhead<'m, M> {
    memory: &'m M,
    from: u64,
    piece: &'m [u8],
}

impl<'m, M: ForeignMemory> ReadAhead<'m, M> {
    /// Prefetches into `piece` from `from`; without a piece if not all of it can be read.
    pub fn of(memory: &'m M, from: u64, piece: &'m mut [u8]) -> Self {
        let read = memory.read(from, piece);
        Self { memory, from, piece: read.map_or(&[], |()| piece) }
    }

    /// With a piece read earlier.
    pub fn with_piece(memory: &'m M, from: u64, piece: &'m [u8]) -> Self {
        Self { memory, from, piece }
    }
}

impl<M: ForeignMemory> ForeignMemory for ReadAhead<'_, M> {
    fn read(&self, address: u64, into: &mut [u8]) -> Option<()> {
        let place = address.checked_sub(self.from).and_then(|place| usize::try_from(place).ok());
        let rest = place.and_then(|place| self.piece.get(place..));
        match rest.and_then(|rest| rest.get(..into.len())) {
            Some(known) => into.copy_from_slice(known),
            None => self.memory.read(address, into)?,
        }
        Some(())
    }
}

/// Memory that repeats the given bytes.
#[cfg(any(test, feature = "fuzzing"))]
#[derive(Debug, Clone, Copy)]
pub struct RepeatingMemory<'a>(pub &'a [u8]);

#[cfg(any(test, feature = "fuzzing"))]
impl ForeignMemory for RepeatingMemory<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Option<()> {
        for (at, byte) in into.iter_mut().enumerate() {
            let place = address.wrapping_add(at as u64) % (self.0.len() as u64).max(1);
            *byte = *self.0.get(place as usize)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_read_ahead_is_the_same_memory() {
        let bytes: Vec<u8> = (0..=255).collect();
        let memory = RepeatingMemory(&bytes);
        let mut piece = [0; 512];
        let ahead = ReadAhead::of(&memory, 1000, &mut piece);
        for address in [0, 999, 1000, 1504, 1505, 1512, u64::MAX] {
            assert_eq!(ahead.word(address), memory.word(address), "{address}");
        }
    }

    #[test]
    fn where_not_all_of_it_is_there_the_rest_can_be_read() {
        struct Short;
        impl ForeignMemory for Short {
            fn read(&self, address: u64, into: &mut [u8]) -> Option<()> {
                into.fill(7);
                (address + into.len() as u64 <= 100).then_some(())
            }
        }
        let mut piece = [0; 512];
        let ahead = ReadAhead::of(&Short, 90, &mut piece);
        assert_eq!((ahead.short(98), ahead.short(99)), (Some(0x0707), None));
    }
}
