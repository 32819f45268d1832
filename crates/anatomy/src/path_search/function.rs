use crate::Image;
use crate::decoder::{decode, first_argument, syscall_number_register};
use crate::flow::{Flow, Target};
use crate::registers::Registers;
use std::collections::{BTreeMap, BTreeSet};

/// The parts of a function that matter for paths to a system call.
#[derive(Debug, Default)]
pub(super) struct FunctionBody {
    /// Calls, and jumps out of the function, by address.
    pub transfers: Vec<ControlTransfer>,
    pub syscalls: Vec<SyscallInstruction>,
    /// It was not read completely.
    pub cut_short: bool,
}

/// A call, or a jump out of the function.
#[derive(Debug, Clone, Copy)]
pub(super) struct ControlTransfer {
    pub address: u64,
    pub length: u8,
    pub target: Target,
    /// It returns.
    pub is_call: bool,
}

/// A system call instruction and its register values, as far as the straight-line code before it sets them.
#[derive(Debug)]
pub(super) struct SyscallInstruction {
    pub address: u64,
    pub length: u8,
    pub number: Option<u64>,
    pub first_argument: Option<u64>,
    /// Addresses and lengths of the straight-line code that leads here, inclusive.
    pub preceding: Vec<(u64, u8)>,
}

/// Reads the function at `entry` along all its branches, at most `budget` instructions.
pub(super) fn scan_function(image: &Image<'_>, entry: u64, budget: &mut usize) -> FunctionBody {
    let mut found = FunctionScan::default();
    let mut waiting = vec![entry];
    while let Some(from) = waiting.pop() {
        if !found.read(image, from, entry, budget, &mut waiting) {
            break;
        }
    }
    found.body(image)
}

#[derive(Default)]
struct FunctionScan {
    instructions: BTreeMap<u64, (u8, Flow)>,
    /// Branch targets: register values there are unknown.
    jump_targets: BTreeSet<u64>,
    /// Jumps that leave the function.
    exits: BTreeSet<u64>,
    cut_short: bool,
}

impl FunctionScan {
    /// Reads straight on until the code ends or was read already; false when the budget is spent.
    fn read(
        &mut self,
        image: &Image<'_>,
        from: u64,
        entry: u64,
        budget: &mut usize,
        pending: &mut Vec<u64>,
    ) -> bool {
        let end = image.function_end(entry);
        let within = |address: u64| end.is_some_and(|end| (entry..end).contains(&address));
        // A jump to the start of another function is a tail call. Parts of a function that were moved elsewhere
        // have names that say so, or none.
        let leaves = |target: u64| target != entry && !within(target) && is_function(image, target);
        let mut address = from;
        while !self.instructions.contains_key(&address) {
            if *budget == 0 {
                self.cut_short = true;
                return false;
            }
            let Some(code) = image.code(address) else { return true };
            let Some(instruction) = decode(image.machine(), code, address, &mut Registers::default()) else {
                return true;
            };
            *budget -= 1;
            self.instructions.insert(address, (instruction.length, instruction.flow));
            let Some(next) = address.checked_add(u64::from(instruction.length)) else { return true };
            match instruction.flow {
                Flow::Jump(Target::Address(target)) | Flow::Branch(target) if !leaves(target) => {
                    self.jump_targets.insert(target);
                    pending.push(target);
                }
                Flow::Jump(_) | Flow::Branch(_) => _ = self.exits.insert(address),
                Flow::Next | Flow::Call(_) | Flow::System | Flow::End => {}
            }
            if matches!(instruction.flow, Flow::Jump(_) | Flow::End) {
                return true;
            }
            // After a call that never returns the next function may begin.
            if !within(next) && image.is_function_start(next) && !matches!(instruction.flow, Flow::System) {
                return true;
            }
            address = next;
        }
        true
    }

    /// Goes over the instructions again by address, following the registers.
    fn body(self, image: &Image<'_>) -> FunctionBody {
        let mut body = FunctionBody { cut_short: self.cut_short, ..FunctionBody::default() };
        let mut registers = Registers::default();
        let mut preceding: Vec<(u64, u8)> = Vec::new();
        let mut expected = None;
        for (&address, &(length, flow)) in &self.instructions {
            if expected != Some(address) || self.jump_targets.contains(&address) {
                registers.forget();
                preceding.clear();
            }
            preceding.push((address, length));
            let (number, first) = (
                registers.number(syscall_number_register(image.machine())),
                registers.number(first_argument(image.machine())),
            );
            let code = image.code(address).unwrap_or_default();
            let flow = decode(image.machine(), code, address, &mut registers).map_or(flow, |i| i.flow);
            let transfer = |target, call| ControlTransfer { address, length, target, is_call: call };
            match flow {
                Flow::System => {
                    body.syscalls.push(SyscallInstruction {
                        address,
                        length,
                        number,
                        first_argument: first,
                        preceding: preceding.clone(),
                    });
                    preceding.clear();
                }
                Flow::Call(target) => {
                    body.transfers.push(transfer(target, true));
                    preceding.clear();
                }
                Flow::Jump(target) if self.exits.contains(&address) => {
                    body.transfers.push(transfer(target, false))
                }
                Flow::Branch(target) if self.exits.contains(&address) => {
                    body.transfers.push(transfer(Target::Address(target), false));
                }
                _ => {}
            }
            let goes_on = !matches!(flow, Flow::Jump(_) | Flow::End);
            expected = address.checked_add(u64::from(length)).filter(|_| goes_on);
        }
        body
    }
}

/// Whether a named function begins here.
fn is_function(image: &Image<'_>, address: u64) -> bool {
    image.names(address).iter().any(|name| !name.symbol.contains(".cold"))
}
