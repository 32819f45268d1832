//! Finds the function that contains an address.

/// The functions of a file by address.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Address, size (0: unknown) and end of the name in `names`; sorted by [`Symbols::sort`].
    all: Vec<(u64, u64, u32, u32)>,
    names: Vec<u8>,
}

impl Symbols {
    /// Adds a function; with size 0 it extends to the next.
    pub fn add(&mut self, address: u64, size: u64, name: &[u8]) {
        let from = self.names.len();
        let (Ok(start), Ok(end)) = (u32::try_from(from), u32::try_from(from + name.len())) else { return };
        if name.is_empty() {
            return;
        }
        self.names.extend_from_slice(name);
        self.all.push((address, size, start, end));
    }

    /// Sorts, after the last one was added. Of several at one address the one with a size stays, otherwise
    /// the first.
    pub fn sort(&mut self) {
        self.all.sort_by(|a, b| a.0.cmp(&b.0).then((a.1 == 0).cmp(&(b.1 == 0))));
        self.all.dedup_by_key(|symbol| symbol.0);
        self.all.shrink_to_fit();
        self.names.shrink_to_fit();
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The functions whose names start with `prefix`, in address order: address, size and name.
    pub fn beginning_with(&self, prefix: &[u8]) -> impl Iterator<Item = (u64, u64, &[u8])> {
        let named = |&(at, size, from, to): &(u64, u64, u32, u32)| {
            (at, size, &self.names[from as usize..to as usize])
        };
        self.all.iter().map(named).filter(move |(.., name)| name.starts_with(prefix))
    }

    /// The function that contains an address: its start and name.
    pub fn find(&self, address: u64) -> Option<(u64, &[u8])> {
        let after = self.all.partition_point(|symbol| symbol.0 <= address);
        let (start, size, from, to) = *self.all.get(after.checked_sub(1)?)?;
        let is_within = size == 0 || address - start < size;
        is_within.then(|| (start, &self.names[from as usize..to as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_function_before_it() {
        let mut symbols = Symbols::default();
        for (address, size, name) in
            [(200, 0, "label"), (100, 10, "sized"), (200, 5, "again"), (300, 0, "open"), (400, 1, "")]
        {
            symbols.add(address, size, name.as_bytes());
        }
        symbols.sort();
        for (address, expected) in [
            (99, None),
            (100, Some("sized")),
            (109, Some("sized")),
            (110, None),
            (204, Some("again")),
            (205, None),
            (300, Some("open")),
            (u64::MAX, Some("open")),
        ] {
            let found = symbols.find(address).map(|(_, name)| std::str::from_utf8(name).expect("it is ours"));
            assert_eq!(found, expected, "{address}");
        }
    }
}
