//! Functions whose names only the process knows that runs them: they are asked for at once, before it is gone.

use crate::written::tidy;
use std::collections::HashMap;

/// Different ones at most.
const MOST: usize = 200_000;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MadeFunction {
    /// What it belongs to.
    pub module: String,
    /// As it is written.
    pub name: String,
    /// The file of its source.
    pub file: Option<String>,
    /// The line where it begins, from 1.
    pub line: Option<u32>,
}

/// All of them, by their numbers.
#[derive(Debug, Default)]
pub struct OwnNames {
    list: Vec<MadeFunction>,
    numbers: HashMap<MadeFunction, u32>,
}

impl OwnNames {
    /// The number of a function; none: it would be one too many.
    pub fn number(&mut self, mut function: MadeFunction) -> Option<u32> {
        for text in [&mut function.module, &mut function.name] {
            *text = tidy(text);
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

    /// One of them.
    pub fn get(&self, number: u32) -> Option<&MadeFunction> {
        self.list.get(number as usize)
    }
}

/// A function on a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// An address within it.
    Address(u64),
    /// Its number among those that the process has named.
    Made(u32),
}
