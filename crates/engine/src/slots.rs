//! Things by number: a number is taken again once its thing is gone.

/// A number and the generation of its slot: names one thing for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotKey {
    /// Of its slot.
    pub number: u32,
    generation: u32,
}

/// Things in slots.
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
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number that the next one will have.
    pub fn next_number(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.slots.len() as u32)
    }

    /// One more.
    pub fn insert(&mut self, thing: T) -> SlotKey {
        match self.free.pop() {
            Some(number) => {
                let (generation, slot) = &mut self.slots[number as usize];
                *slot = Some(thing);
                SlotKey { number, generation: *generation }
            }
            None => {
                self.slots.push((0, Some(thing)));
                SlotKey { number: (self.slots.len() - 1) as u32, generation: 0 }
            }
        }
    }

    /// The thing in this slot.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.1.as_mut()
    }

    /// The key of the thing in this slot.
    pub fn key(&self, number: u32) -> Option<SlotKey> {
        let (generation, thing) = self.slots.get(number as usize)?;
        thing.as_ref().map(|_| SlotKey { number, generation: *generation })
    }

    /// The thing of this key, and not another in its place.
    pub fn get(&self, key: SlotKey) -> Option<&T> {
        let (generation, thing) = self.slots.get(key.number as usize)?;
        thing.as_ref().filter(|_| *generation == key.generation)
    }

    /// Takes it out; its number goes to another.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let (generation, slot) = self.slots.get_mut(number as usize)?;
        let thing = slot.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(number);
        Some(thing)
    }

    /// All of them by their numbers.
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
