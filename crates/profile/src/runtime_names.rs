//! Functions that only their process can name: they are resolved at once, before it is gone.

use crate::demangle::sanitize;
use std::collections::HashMap;

/// Maximum distinct functions.
const MOST: usize = 200_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuntimeFunction {
    pub module: String,
    pub name: String,
    /// Source file.
    pub file: Option<String>,
    /// First line, from 1.
    pub line: Option<u32>,
}

/// Functions by number, and frames of them: a frame has all functions inlined into one another there.
#[derive(Debug, Default)]
pub struct RuntimeNames {
    list: Vec<RuntimeFunction>,
    numbers: HashMap<RuntimeFunction, u32>,
    frames: Vec<Vec<u32>>,
    frame_numbers: HashMap<Vec<u32>, u32>,
}

impl RuntimeNames {
    /// The number of a function; none if there is no room.
    pub fn number(&mut self, mut function: RuntimeFunction) -> Option<u32> {
        for text in [&mut function.module, &mut function.name] {
            *text = sanitize(text);
        }
        if let Some(number) = self.numbers.get(&function) {
            return Some(*number);
        }
        if self.list.len() >= MOST {
            return None;
        }
        let number = self.list.len() as u32;
        self.list.push(function.clone());
        self.numbers.insert(function, number);
        Some(number)
    }

    /// The number of a frame of these functions, innermost first; none without functions or room.
    pub fn frame(&mut self, functions: &[u32]) -> Option<u32> {
        if let Some(number) = self.frame_numbers.get(functions) {
            return Some(*number);
        }
        if functions.is_empty() || self.frames.len() >= MOST {
            return None;
        }
        let number = self.frames.len() as u32;
        self.frames.push(functions.to_vec());
        self.frame_numbers.insert(functions.to_vec(), number);
        Some(number)
    }

    /// The number of a frame of a single function.
    pub fn single_frame(&mut self, function: RuntimeFunction) -> Option<u32> {
        let number = self.number(function)?;
        self.frame(&[number])
    }

    /// The functions of a frame, innermost first.
    pub fn functions(&self, frame: u32) -> impl DoubleEndedIterator<Item = &RuntimeFunction> {
        let numbers = self.frames.get(frame as usize).map_or(&[][..], Vec::as_slice);
        numbers.iter().map(|number| &self.list[*number as usize])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// An address within its function.
    Address(u64),
    /// Number among [`RuntimeNames`].
    Named(u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> RuntimeFunction {
        RuntimeFunction { module: "m".to_owned(), name: name.to_owned(), file: None, line: None }
    }

    #[test]
    fn a_frame_has_the_functions_that_are_compiled_into_one_another() {
        let mut made = RuntimeNames::default();
        let [inner, outer] =
            ["inner", "outer"].map(|name| made.number(function(name)).expect("there is room"));
        let both = made.frame(&[inner, outer]).expect("there is room");
        assert_eq!(made.frame(&[inner, outer]), Some(both), "it is the same");
        let alone = made.single_frame(function("outer")).expect("there is room");
        assert_eq!(made.frame(&[outer]), Some(alone), "it is the same");
        assert_ne!(alone, both);
        let names: Vec<&str> = made.functions(both).map(|function| function.name.as_str()).collect();
        assert_eq!(names, ["inner", "outer"]);
        assert_eq!(made.frame(&[]), None, "a frame has a function");
        assert_eq!(made.functions(7).count(), 0);
    }
}
