//! A64. What matters for following the code is decoded here, by the encodings of the Arm architecture reference manual
//! (DDI 0487, chapter C4); a library disassembles.

use crate::flow::{Flow, Instruction, Target};
use crate::registers::{RegisterValue, Registers};
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::InstDecoder;

/// `count` bits of `word`, from `low` on.
fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

fn register(word: u32, low: u32) -> usize {
    bits(word, low, 5) as usize
}

/// Converts a signed `count`-bit number of instructions to a distance in bytes.
fn distance(number: u32, count: u32) -> u64 {
    let shift = 64 - count;
    ((i64::from(number) << shift >> shift) * 4).cast_unsigned()
}

pub(crate) fn decode(bytes: &[u8], address: u64, registers: &mut Registers) -> Option<Instruction> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let to = |low, count| address.wrapping_add(distance(bits(word, low, count), count));
    let flow = if word >> 16 == 0 {
        return None; // UDF: never code
    } else if word & 0xfc00_0000 == 0x1400_0000 {
        Flow::Jump(Target::Address(to(0, 26)))
    } else if word & 0xfc00_0000 == 0x9400_0000 {
        Flow::Call(Target::Address(to(0, 26)))
    } else if word & 0xff00_0000 == 0x5400_0000 || word & 0x7e00_0000 == 0x3400_0000 {
        Flow::Branch(to(5, 19))
    } else if word & 0x7e00_0000 == 0x3600_0000 {
        Flow::Branch(to(5, 14))
    } else if word & 0xfe00_0000 == 0xd600_0000 {
        by_register(word, registers)
    } else if word & 0xffe0_001f == 0xd400_0001 {
        Flow::System
    } else if word & 0xff00_0000 == 0xd400_0000 {
        Flow::End // BRK, HLT and what only kernels do
    } else {
        Flow::Next
    };
    match flow {
        Flow::Call(_) | Flow::System => registers.forget(),
        Flow::Next => track_registers(word, address, registers),
        _ => {}
    }
    Some(Instruction { length: 4, flow })
}

/// BR, BLR, RET and their authenticated forms.
fn by_register(word: u32, registers: &Registers) -> Flow {
    let target = match registers.get(register(word, 5)) {
        Some(RegisterValue::Number(address)) => Target::Address(address),
        Some(RegisterValue::Slot(slot)) => Target::Slot(slot),
        None => Target::Unknown,
    };
    match bits(word, 21, 4) & 0b0111 {
        0 => Flow::Jump(target),
        1 => Flow::Call(target),
        _ => Flow::End,
    }
}

/// Applies an instruction to the registers. Constants, addresses and loads from known addresses are
/// followed; any other instruction makes each register it may write unknown.
fn track_registers(word: u32, address: u64, registers: &mut Registers) {
    let into = register(word, 0);
    let (wide, narrow) = (word >> 31 == 1, |number: u64| number & 0xffff_ffff);
    let sized = |number| if wide { number } else { narrow(number) };
    let value = if word & 0x1f80_0000 == 0x1280_0000 {
        // MOVN, MOVZ, MOVK
        let shift = bits(word, 21, 2) * 16;
        let part = u64::from(bits(word, 5, 16)) << shift;
        match bits(word, 29, 2) {
            0 => Some(sized(!part)),
            2 => Some(sized(part)),
            3 => registers.number(into).map(|old| sized(old & !(0xffff << shift) | part)),
            _ => None,
        }
        .map(RegisterValue::Number)
    } else if word & 0x1f00_0000 == 0x1000_0000 {
        // ADR, ADRP
        let number = bits(word, 5, 19) << 2 | bits(word, 29, 2);
        let distance = (i64::from(number) << 43 >> 43).cast_unsigned();
        let at = if wide {
            (address & !0xfff).wrapping_add(distance << 12)
        } else {
            address.wrapping_add(distance)
        };
        Some(RegisterValue::Number(at))
    } else if word & 0x7f80_0000 == 0x1100_0000 && into != 31 {
        // ADD (immediate); register 31 is the stack pointer here, and is not followed.
        let number = u64::from(bits(word, 10, 12)) << (12 * bits(word, 22, 1));
        registers
            .number(register(word, 5))
            .map(|base| RegisterValue::Number(sized(base.wrapping_add(number))))
    } else if word & 0x7fe0_ffe0 == 0x2a00_03e0 {
        // MOV (register), an alias of ORR.
        match registers.get(register(word, 16)) {
            Some(RegisterValue::Number(number)) => Some(RegisterValue::Number(sized(number))),
            slot if wide => slot,
            _ => None,
        }
    } else if word & 0xffc0_0000 == 0xf940_0000 {
        // LDR, 64 bits, at an offset from a register.
        let base = registers.number(register(word, 5));
        base.map(|base| RegisterValue::Slot(base.wrapping_add(u64::from(bits(word, 10, 12)) * 8)))
    } else {
        if word & 0x0a00_0000 == 0x0800_0000 {
            // Loads and stores may also write a second register, and the base register.
            registers.set(register(word, 10), None);
            registers.set(register(word, 5), None);
        }
        None
    };
    // Register 31 is zero or the stack pointer: neither is followed.
    registers.set(into, value.filter(|_| into != 31));
}

pub(crate) fn disassemble(bytes: &[u8]) -> String {
    let word = bytes.first_chunk().map_or(&[][..], |word: &[u8; 4]| word);
    match InstDecoder::default().decode(&mut U8Reader::new(word)) {
        Ok(instruction) => instruction.to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(words: &[u32]) -> Registers {
        let mut registers = Registers::default();
        for (n, word) in words.iter().enumerate() {
            let address = 0x1000 + 4 * n as u64;
            decode(&word.to_le_bytes(), address, &mut registers).expect("an instruction");
        }
        registers
    }

    #[test]
    fn numbers_are_followed_into_registers() {
        // mov x0,#0x11; movk x0,#0x120,lsl #16; mov x8,#220; mov x1,#0
        let registers = run(&[0xd280_0220, 0xf2a0_2400, 0xd280_1b88, 0xd280_0001]);
        assert_eq!((registers.number(0), registers.number(8)), (Some(0x120_0011), Some(220)));
        assert_eq!(registers.number(1), Some(0));
        // mov w8,#-1; mov x9,x8
        assert_eq!(run(&[0x1280_0008, 0xaa08_03e9]).number(9), Some(0xffff_ffff));
    }

    #[test]
    fn a_slot_of_the_loader_is_found() {
        // adrp x16,.+0x10000; ldr x17,[x16,#24]; add x16,x16,#24; br x17
        let mut registers = run(&[0x9000_0090, 0xf940_0e11, 0x9100_6210]);
        assert_eq!(registers.number(16), Some(0x11018));
        let jump = decode(&0xd61f_0220_u32.to_le_bytes(), 0x100c, &mut registers).expect("br x17");
        assert_eq!(jump.flow, Flow::Jump(Target::Slot(0x11018)));
    }

    #[test]
    fn what_is_written_otherwise_is_forgotten() {
        // mrs x8,tpidr_el0; ldp x8,x9,[sp]; ldr x1,[x8],#8; and x8,x8,#1
        for word in [0xd53b_d048, 0xa940_27e8, 0xf840_8501, 0x9240_0108] {
            assert_eq!(run(&[0xd280_1b88, word]).number(8), None, "{word:08x}");
        }
        // cmp x8,#0 writes no register.
        assert_eq!(run(&[0xd280_1b88, 0xf100_011f]).number(8), Some(220));
    }

    /// The disassembler must not fail on any word: data may lie between instructions.
    #[test]
    fn every_word_has_a_text_or_none() {
        let mut word = 1_u32;
        for _ in 0..1_000_000 {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let _ = disassemble(&word.rotate_left(16).to_le_bytes());
        }
    }

    #[test]
    fn flows() {
        let flow = |word: u32| decode(&word.to_le_bytes(), 0x1000, &mut Registers::default()).map(|i| i.flow);
        assert_eq!(flow(0xd400_0001), Some(Flow::System));
        assert_eq!(flow(0x9400_0004), Some(Flow::Call(Target::Address(0x1010))));
        assert_eq!(flow(0x17ff_ffff), Some(Flow::Jump(Target::Address(0xffc))));
        assert_eq!(flow(0x5400_0040), Some(Flow::Branch(0x1008)));
        assert_eq!(flow(0xb400_0040), Some(Flow::Branch(0x1008)));
        assert_eq!(flow(0x3607_ffe0), Some(Flow::Branch(0xffc)));
        assert_eq!(flow(0xd63f_0200), Some(Flow::Call(Target::Unknown)));
        assert_eq!(flow(0xd65f_03c0), Some(Flow::End));
        assert_eq!(flow(0), None);
        assert_eq!(disassemble(&0xd400_0001_u32.to_le_bytes()), "svc #0x0");
    }
}
