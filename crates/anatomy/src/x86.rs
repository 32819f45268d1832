use crate::flow::{Flow, Instruction, Target};
use crate::registers::{RegisterValue, Registers};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};

/// The processor's own register numbers.
pub(crate) const RAX: usize = 0;
pub(crate) const RDI: usize = 7;

fn instruction(bytes: &[u8], address: u64) -> Option<iced_x86::Instruction> {
    let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
    (!instruction.is_invalid()).then_some(instruction)
}

pub(crate) fn decode(bytes: &[u8], address: u64, registers: &mut Registers) -> Option<Instruction> {
    let instruction = instruction(bytes, address)?;
    let flow = match instruction.flow_control() {
        _ if instruction.code() == Code::Syscall => Flow::System,
        FlowControl::Next | FlowControl::XbeginXabortXend => Flow::Next,
        FlowControl::UnconditionalBranch => Flow::Jump(direct(&instruction)),
        FlowControl::IndirectBranch => Flow::Jump(indirect(&instruction)),
        FlowControl::ConditionalBranch => Flow::Branch(instruction.near_branch_target()),
        FlowControl::Call => Flow::Call(direct(&instruction)),
        FlowControl::IndirectCall => Flow::Call(indirect(&instruction)),
        FlowControl::Return | FlowControl::Interrupt | FlowControl::Exception => Flow::End,
    };
    match flow {
        // Register contents after a function or the kernel are unknown.
        Flow::Call(_) | Flow::System => registers.forget(),
        _ => track_registers(&instruction, registers),
    }
    Some(Instruction { length: u8::try_from(instruction.len()).ok()?, flow })
}

fn direct(instruction: &iced_x86::Instruction) -> Target {
    match instruction.op0_kind() {
        OpKind::NearBranch64 => Target::Address(instruction.near_branch_target()),
        _ => Target::Unknown,
    }
}

fn indirect(instruction: &iced_x86::Instruction) -> Target {
    let by_memory = instruction.op0_kind() == OpKind::Memory && instruction.is_ip_rel_memory_operand();
    if by_memory { Target::Slot(instruction.ip_rel_memory_address()) } else { Target::Unknown }
}

fn general_register(register: Register) -> Option<usize> {
    let full = register.full_register();
    full.is_gpr().then(|| full.number())
}

/// Applies an instruction to the registers: constants moved into one are followed, anything else written
/// becomes unknown.
fn track_registers(instruction: &iced_x86::Instruction, registers: &mut Registers) {
    let value = written_constant(instruction, registers);
    let mut factory = InstructionInfoFactory::new();
    for used in factory.info(instruction).used_registers() {
        let written = !matches!(
            used.access(),
            OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess
        );
        if written && let Some(register) = general_register(used.register()) {
            registers.set(register, None);
        }
    }
    if let Some((register, number)) = value {
        registers.set(register, Some(RegisterValue::Number(number)));
    }
}

/// The register that receives a known number, and the number.
fn written_constant(instruction: &iced_x86::Instruction, registers: &Registers) -> Option<(usize, u64)> {
    if instruction.op0_kind() != OpKind::Register {
        return None;
    }
    let into = instruction.op0_register();
    let register = general_register(into)?;
    let number = match (instruction.mnemonic(), instruction.op1_kind()) {
        (Mnemonic::Xor | Mnemonic::Sub, OpKind::Register) if instruction.op1_register() == into => 0,
        (Mnemonic::Mov, OpKind::Register) => {
            registers.number(general_register(instruction.op1_register())?)?
        }
        (
            Mnemonic::Mov,
            OpKind::Immediate8 | OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64,
        ) => instruction.immediate(1),
        _ => return None,
    };
    // A 32-bit write clears the upper half, an 8-bit one keeps all other bits.
    match into.size() {
        8 => Some((register, number)),
        4 => Some((register, number & 0xffff_ffff)),
        1 if is_low_byte(into) => Some((register, registers.number(register)? & !0xff | number & 0xff)),
        _ => None,
    }
}

fn is_low_byte(register: Register) -> bool {
    !matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

/// In GNU assembler syntax, as in `objdump -d`.
pub(crate) fn disassemble(bytes: &[u8], address: u64) -> String {
    let Some(instruction) = instruction(bytes, address) else { return String::new() };
    let mut formatter = GasFormatter::new();
    formatter.options_mut().set_uppercase_hex(false);
    formatter.options_mut().set_branch_leading_zeros(false);
    formatter.options_mut().set_small_hex_numbers_in_decimal(false);
    let mut text = String::new();
    formatter.format(&instruction, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(code: &[&[u8]]) -> Registers {
        let mut registers = Registers::default();
        let mut address = 0x1000;
        for bytes in code {
            let decoded = decode(bytes, address, &mut registers).expect("an instruction");
            assert_eq!(usize::from(decoded.length), bytes.len());
            address += bytes.len() as u64;
        }
        registers
    }

    #[test]
    fn numbers_are_followed_into_registers() {
        // mov $0x38,%eax; mov $0x1200011,%edi; xor %esi,%esi
        let registers = run(&[&[0xb8, 0x38, 0, 0, 0], &[0xbf, 0x11, 0, 0x20, 0x01], &[0x31, 0xf6]]);
        assert_eq!((registers.number(RAX), registers.number(RDI)), (Some(0x38), Some(0x120_0011)));
        assert_eq!(registers.number(6), Some(0));
        // xor %eax,%eax; mov $0x38,%al; mov %rax,%rdi
        let registers = run(&[&[0x31, 0xc0], &[0xb0, 0x38], &[0x48, 0x89, 0xc7]]);
        assert_eq!((registers.number(RAX), registers.number(RDI)), (Some(0x38), Some(0x38)));
        // mov $-1,%rax: its sign is extended.
        assert_eq!(run(&[&[0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff]]).number(RAX), Some(u64::MAX));
    }

    #[test]
    fn what_is_written_otherwise_is_forgotten() {
        let known: &[u8] = &[0xb8, 0x38, 0, 0, 0];
        // cpuid writes four registers without naming one; pop, add and cmpxchg write theirs.
        for writes in [&[0x0f, 0xa2][..], &[0x58], &[0x83, 0xc0, 1], &[0x0f, 0xb1, 0x0f], &[0xb4, 1]] {
            assert_eq!(run(&[known, writes]).number(RAX), None, "{writes:02x?}");
        }
        // push, test and a store only read it.
        for reads in [&[0x50][..], &[0x85, 0xc0], &[0x89, 0x07]] {
            assert_eq!(run(&[known, reads]).number(RAX), Some(0x38), "{reads:02x?}");
        }
    }

    #[test]
    fn flows() {
        let flow = |bytes: &[u8]| decode(bytes, 0x1000, &mut Registers::default()).map(|i| i.flow);
        assert_eq!(flow(&[0x0f, 0x05]), Some(Flow::System));
        assert_eq!(flow(&[0xe8, 0, 1, 0, 0]), Some(Flow::Call(Target::Address(0x1105))));
        assert_eq!(flow(&[0xff, 0x15, 0, 1, 0, 0]), Some(Flow::Call(Target::Slot(0x1106))));
        assert_eq!(flow(&[0xff, 0xd0]), Some(Flow::Call(Target::Unknown)));
        assert_eq!(flow(&[0xff, 0x25, 0, 1, 0, 0]), Some(Flow::Jump(Target::Slot(0x1106))));
        assert_eq!(flow(&[0xeb, 0x10]), Some(Flow::Jump(Target::Address(0x1012))));
        assert_eq!(flow(&[0x74, 0x10]), Some(Flow::Branch(0x1012)));
        assert_eq!(flow(&[0xc3]), Some(Flow::End));
        assert_eq!(flow(&[0xe8, 0]), None, "cut short");
        assert_eq!(disassemble(&[0xb8, 0x38, 0, 0, 0], 0), "mov $0x38,%eax");
    }
}
