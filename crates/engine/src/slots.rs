//! Things by number: a number is taken again once its thing is gone.

/// A number and the generation of its slot: names one thing for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
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

    /// One more.
    pub fn insert(&mut self, thing: T) -> Key {
        match self.free.pop() {
            Some(number) => {
                let (generation, slot) = &mut self.slots[number as usize];
                *slot = Some(thing);
                Key { number, generation: *generation }
            }
            None => {
                self.slots.push((0, Some(thing)));
                Key { number: (self.slots.len() - 1) as u32, generation: 0 }
            }
        }
    }

    /// The thing in this slot.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.slots.get_mut(number as usize)?.1.as_mut()
    }

    /// Whether the thing of this key is still there, and not another in its place.
    pub fn holds(&self, key: Key) -> bool {
        matches!(self.slots.get(key.number as usize), Some((generation, Some(_))) if *generation == key.generation)
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
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        (0..).zip(&mut self.slots).filter_map(|(number, (_, slot))| Some((number, slot.as_mut()?)))
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
        assert!(!slots.holds(a) && slots.holds(b) && slots.holds(c));
        assert_eq!(
            slots.iter_mut().map(|(number, thing)| (number, *thing)).collect::<Vec<_>>(),
            [(0, 'c'), (1, 'b')]
        );
        assert_eq!(slots.remove(7), None);
    }
}
