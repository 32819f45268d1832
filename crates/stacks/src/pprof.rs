//! The part of pprof's protocol buffers (`proto/profile.proto`) that a sample profile needs, by field
//! number.

use record::Profile;
use std::collections::BTreeMap;

/// A profile for `go tool pprof` and other readers of its format, before gzip: values are samples and
/// nanoseconds of processor time; the thread is a label. It has functions, no addresses.
pub fn encode_pprof(profile: &Profile) -> Vec<u8> {
    let mut texts = StringTable::default();
    // The first string must be empty.
    texts.number("");
    let mut encoded = Message::default();
    let kinds = [("samples", "count"), ("cpu", "nanoseconds")]
        .map(|(kind, unit)| Message::default().number(1, texts.number(kind)).number(2, texts.number(unit)));
    let [samples, time] = kinds;
    encoded = encoded.message(1, &samples).message(1, &time);
    let thread_key = texts.number("thread");
    for stack in &profile.stacks {
        let thread = profile.thread(stack.0);
        let label = Message::default().number(1, thread_key).number(2, texts.number(thread));
        let locations: Vec<u64> = profile.frames(*stack).map(|function| u64::from(function) + 1).collect();
        let values = [stack.2, profile.time_of(stack.2).0];
        encoded = encoded
            .message(2, &Message::default().numbers(1, &locations).numbers(2, &values).message(3, &label));
    }
    for (at, module) in profile.modules.iter().enumerate() {
        let has_names = u64::from(module.nameless.is_none());
        let mapping = Message::default()
            .number(1, at as u64 + 1)
            .number(5, texts.number(&module.name))
            .number(7, has_names);
        encoded = encoded.message(3, &mapping);
    }
    for (at, function) in profile.functions.iter().enumerate() {
        let (id, line) = (at as u64 + 1, u64::from(function.line.unwrap_or(0)));
        let place = Message::default().number(1, id).number(2, line);
        let has_module = (function.module as usize) < profile.modules.len();
        let module = if has_module { u64::from(function.module) + 1 } else { 0 };
        encoded = encoded.message(4, &Message::default().number(1, id).number(2, module).message(4, &place));
    }
    for (at, function) in profile.functions.iter().enumerate() {
        let name = texts.number(&function.name);
        let file = texts.number(function.file.as_deref().unwrap_or_default());
        let named =
            Message::default().number(1, at as u64 + 1).number(2, name).number(3, name).number(4, file);
        encoded = encoded.message(5, &named);
    }
    for text in &texts.all {
        encoded = encoded.bytes(6, text.as_bytes());
    }
    encoded
        .number(9, profile.at_unix_ms.saturating_mul(1_000_000))
        .number(10, profile.length.0)
        .message(11, &time)
        .number(12, 1_000_000_000 / u64::from(profile.hz.max(1)))
        .0
}

/// Strings by index.
#[derive(Default)]
struct StringTable {
    all: Vec<String>,
    numbers: BTreeMap<String, u64>,
}

impl StringTable {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// Encoded fields, each after its number and wire type: 0 varint, 2 length-delimited.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// A varint: seven bits per byte, lowest first; all bytes but the last have the high bit set.
    fn write(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Zero is the default, so omitted.
    fn number(mut self, field: u64, number: u64) -> Self {
        if number != 0 {
            self.write(field << 3);
            self.write(number);
        }
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.write(field << 3 | 2);
        self.write(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    fn numbers(self, field: u64, numbers: &[u64]) -> Self {
        let mut packed = Self::default();
        numbers.iter().for_each(|number| packed.write(*number));
        self.message(field, &packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::profile;

    #[test]
    fn fields_are_written_as_protocol_buffers() {
        let message =
            Message::default().number(1, 150).number(2, 0).bytes(2, b"testing").numbers(4, &[3, 270]);
        assert_eq!(message.0, b"\x08\x96\x01\x12\x07testing\x22\x03\x03\x8e\x02");
    }

    #[test]
    fn names_are_there_once() {
        let bytes = encode_pprof(&profile(&[("abc", 99), ("a", 1)]));
        let count = |text: &[u8]| bytes.windows(text.len()).filter(|window| *window == text).count();
        assert_eq!((count(b"worker-N"), count(b"nanoseconds"), count(b"two")), (1, 1, 1));
    }
}
