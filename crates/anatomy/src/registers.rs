/// The value of a register, as far as the code sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegisterValue {
    /// This number.
    Number(u64),
    /// What the loader puts into the slot at this address.
    Slot(u64),
}

/// The general registers of either architecture, followed along straight-line code.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registers([Option<RegisterValue>; 32]);

impl Registers {
    pub fn get(&self, register: usize) -> Option<RegisterValue> {
        *self.0.get(register)?
    }

    pub fn number(&self, register: usize) -> Option<u64> {
        match self.get(register)? {
            RegisterValue::Number(number) => Some(number),
            RegisterValue::Slot(_) => None,
        }
    }

    pub fn set(&mut self, register: usize, value: Option<RegisterValue>) {
        if let Some(place) = self.0.get_mut(register) {
            *place = value;
        }
    }

    /// Makes all registers unknown.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}
