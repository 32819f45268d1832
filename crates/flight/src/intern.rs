//! The same thing is held once.

use std::collections::BTreeMap;

/// Things by the order in which they were first seen.
#[derive(Debug)]
pub(crate) struct Interned<T> {
    all: Vec<T>,
    numbers: BTreeMap<T, u32>,
}

impl<T: Ord + Clone> Interned<T> {
    pub fn new() -> Self {
        Self { all: Vec::new(), numbers: BTreeMap::new() }
    }

    /// The number of it.
    pub fn number(&mut self, thing: T) -> u32 {
        if let Some(&number) = self.numbers.get(&thing) {
            return number;
        }
        let number = u32::try_from(self.all.len()).expect("each took bytes of a file that fits into memory");
        self.all.push(thing.clone());
        self.numbers.insert(thing, number);
        number
    }

    /// All of them, each at its number.
    pub fn into_all(self) -> Vec<T> {
        self.all
    }
}

impl Interned<std::sync::Arc<str>> {
    /// This text, held once.
    pub fn text(&mut self, text: &str) -> std::sync::Arc<str> {
        match self.numbers.get_key_value(text) {
            Some((held, _)) => held.clone(),
            None => {
                let held: std::sync::Arc<str> = text.into();
                self.number(held.clone());
                held
            }
        }
    }
}
