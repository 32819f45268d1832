//! Class, name and source location of a method.

use super::layout::Layout;
use super::name::class_name;
use crate::memory::ForeignMemory;
use crate::runtime_names::RuntimeFunction;

/// Maximum bytecode size (limit of the class file format); also read of the line table behind it.
const MAX_CODE: u64 = 65_535;
const LINES: usize = 16;
/// Longer names are not names.
const LONGEST: u16 = 4_096;
/// Method flag: a line table follows the bytecode.
const HAS_LINES: u16 = 1;

impl Layout {
    /// Reads the `Method` at this address; none if it is not one.
    pub fn read_method<M: ForeignMemory>(&self, memory: &M, method: u64) -> Option<RuntimeFunction> {
        let about = memory.word(method.checked_add(self.const_method)?)?;
        let field = |offset: u64| about.wrapping_add(offset);
        let pool = memory.word(field(self.constants))?;
        let name = self.constant(memory, pool, memory.short(field(self.name_index))?)?;
        let holder = memory.word(pool.wrapping_add(self.pool_holder))?;
        let class = self.symbol(memory, memory.word(holder.wrapping_add(self.class_name))?)?;
        let class = class_name(&class);
        let of_pool = self.pool_source.map(|source| pool.wrapping_add(source));
        let of_class = self.class_source.map(|source| holder.wrapping_add(source));
        let source = of_pool.or(of_class).and_then(|at| memory.short(at));
        let file = source.filter(|index| *index > 0).and_then(|index| self.constant(memory, pool, index));
        Some(RuntimeFunction {
            module: package(&class),
            name: format!("{class}.{name}"),
            line: file.as_ref().and_then(|_| self.line(memory, about)),
            file,
        })
    }

    /// The string at this index of a class's constant pool.
    fn constant<M: ForeignMemory>(&self, memory: &M, pool: u64, index: u16) -> Option<String> {
        let length = memory.int(pool.wrapping_add(self.pool_length))?;
        if i32::from(index) >= length {
            return None;
        }
        let at = pool.wrapping_add(self.pool_bytes).wrapping_add(8 * u64::from(index));
        self.symbol(memory, memory.word(at)?)
    }

    fn symbol<M: ForeignMemory>(&self, memory: &M, symbol: u64) -> Option<String> {
        let length = memory.short(symbol.wrapping_add(self.symbol_length))?;
        if length == 0 || length > LONGEST {
            return None;
        }
        let bytes = memory.bytes(symbol.wrapping_add(self.symbol_body), usize::from(length))?;
        String::from_utf8(bytes).ok()
    }

    /// The first line of a method, from its line table of (bytecode offset, line) pairs: both packed into
    /// one byte if small, otherwise after a byte of 255.
    fn line<M: ForeignMemory>(&self, memory: &M, about: u64) -> Option<u32> {
        let field = |offset: u64| about.wrapping_add(offset);
        if memory.short(field(self.flags))? & HAS_LINES == 0 {
            return None;
        }
        let code = u64::from(memory.short(field(self.code_size))?).min(MAX_CODE);
        let bytes = memory.bytes(field(self.const_method_bytes).wrapping_add(code), LINES)?;
        first_line(&bytes, self.unsigned_base)
    }
}

fn first_line(bytes: &[u8], base: u32) -> Option<u32> {
    let (first, mut rest) = bytes.split_first()?;
    match *first {
        0 => None,
        u8::MAX => {
            let _place = super::blobs::parse_unsigned5(&mut rest, base)?;
            let line = super::blobs::parse_unsigned5(&mut rest, base)?;
            // The lowest bit is the sign.
            (line & 1 == 0).then_some(line >> 1)
        }
        pair => Some(u32::from(pair & 7)),
    }
    .filter(|line| *line > 0)
}

/// Module of a class: the first two components of its package.
fn package(class: &str) -> String {
    let words: Vec<&str> = class.split('.').collect();
    match words.len() {
        0 | 1 => "[Java]".to_owned(),
        length => words[..2.min(length - 1)].join("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_belongs_to_its_package() {
        for (class, expected) in [
            ("org.thymeleaf.engine.TemplateModel", "org.thymeleaf"),
            ("java.util.HashMap$Node", "java.util"),
            ("app.Main", "app"),
            ("Burns", "[Java]"),
            ("", "[Java]"),
        ] {
            assert_eq!(package(class), expected);
        }
    }

    #[test]
    fn the_first_line_of_a_table() {
        assert_eq!(first_line(&[0x05, 0], 0), Some(5));
        assert_eq!(first_line(&[0xFF, 0, 84, 0], 0), Some(42));
        assert_eq!(first_line(&[0xFF, 1, 85, 1], 1), Some(42));
        assert_eq!(first_line(&[0xFF, 0, 85, 0], 0), None, "a negative one");
        assert_eq!((first_line(&[0], 0), first_line(&[], 0), first_line(&[0xFF], 0)), (None, None, None));
    }
}
