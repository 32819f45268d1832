//! A slot map: numbers are reused once their value is removed.

/// A number and its slot's generation: identifies one value for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotKey {
    /// The slot's number.
    pub number: u32,
    generation: u32,
}

/// Values in numbered slots.
pub struct Slots<T> {
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Whether no slot is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots in use.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number that the next value will get.
    pub fn next_number(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.slots.len() as u32)
    }

    /// Adds a value, reusing a free slot if there is one.
    pub fn insert(&mut self, value: T) -> SlotKey {
        match self.free.pop() {
            Some(number) => {
                let (generation, slot) = &mut self.slots[number as usize];
                *slot = Some(value);
                SlotKey { number, generation: *generation }
            }
            None => {
                self.slots.push((0, Some(value)));
                SlotKey { number: (self.slots.len() - 1) as u32, generation: 0 }
            }
        }
    }

    /// The value in this slot.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.1.as_mut()
    }

    /// The key of the value in this slot.
    pub fn key(&self, number: u32) -> Option<SlotKey> {
        let (generation, value) = self.slots.get(number as usize)?;
        value.as_ref().map(|_| SlotKey { number, generation: *generation })
    }

    /// The value with this key, not a later one in its slot.
    pub fn get(&self, key: SlotKey) -> Option<&T> {
        let (generation, value) = self.slots.get(key.number as usize)?;
        value.as_ref().filter(|_| *generation == key.generation)
    }

    /// Removes the value; its number is reused.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let (generation, slot) = self.slots.get_mut(number as usize)?;
        let value = slot.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(number);
        Some(value)
    }

    /// All values, by number.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (SlotKey, &mut T)> {
        let all = self.slots.iter_mut().enumerate();
        all.filter_map(|(number, (generation, slot))| {
            Some((SlotKey { number: number as u32, generation: *generation }, slot.as_mut()?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_one_thing_for_good() {
        let mut slots = Slots::default();
        let (a, b) = (slots.insert('a'), slots.insert('b'));
        assert_eq!(slots.remove(a.number), Some('a'));
        let c = slots.insert('c');
        assert_eq!((c.number, slots.len()), (a.number, 2));
        assert_eq!((slots.get(a), slots.get(b), slots.get(c)), (None, Some(&'b'), Some(&'c')));
        assert_eq!(
            slots.iter_mut().map(|(key, thing)| (key, *thing)).collect::<Vec<_>>(),
            [(c, 'c'), (b, 'b')]
        );
        assert_eq!(slots.remove(7), None);
    }
}
