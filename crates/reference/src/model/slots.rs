//! A table of connections with unique keys: a key combines the number
//! of its slot and how often that slot was used.

pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    item: Option<T>,
}

impl<T> Slots<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, item: T) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, item: None });
            u32::try_from(self.slots.len() - 1).expect("descriptors run out before numbers do")
        });
        let slot = &mut self.slots[index as usize];
        slot.item = Some(item);
        u64::from(slot.generation) << 32 | u64::from(index)
    }

    fn slot(&mut self, key: u64) -> Option<&mut Slot<T>> {
        let (generation, index) = ((key >> 32) as u32, key as u32 as usize);
        self.slots.get_mut(index).filter(|slot| slot.generation == generation)
    }

    pub(super) fn get(&mut self, key: u64) -> Option<&mut T> {
        self.slot(key)?.item.as_mut()
    }

    /// Takes the item out for a while; its key stays reserved until `put` or `remove`.
    pub(super) fn take(&mut self, key: u64) -> Option<T> {
        self.slot(key)?.item.take()
    }

    /// Puts back what `take` took.
    pub(super) fn put(&mut self, key: u64, item: T) {
        if let Some(slot) = self.slot(key) {
            slot.item = Some(item);
        }
    }

    /// Ends a key, and drops the item if it is here.
    pub(super) fn remove(&mut self, key: u64) {
        if let Some(slot) = self.slot(key) {
            slot.item = None;
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(key as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_does_not_open_a_new_item() {
        let mut slots = Slots::new();
        let a = slots.insert("a");
        let b = slots.insert("b");
        assert_eq!((slots.take(a), slots.take(a)), (Some("a"), None));
        let c = slots.insert("c");
        assert_ne!(a, c, "a taken item keeps its slot");
        slots.put(a, "a again");
        assert_eq!(slots.get(a), Some(&mut "a again"));
        slots.remove(a);
        let d = slots.insert("d");
        assert_eq!(slots.get(a), None);
        assert_eq!(slots.get(b), Some(&mut "b"));
        assert_eq!(slots.get(d), Some(&mut "d"));
        slots.remove(a);
        slots.put(a, "late");
        assert_eq!(slots.get(d), Some(&mut "d"));
    }
}
