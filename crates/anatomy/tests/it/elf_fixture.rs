//! ELF files made byte by byte, by the ELF specification: one segment loaded at address 0, and a symbol
//! table.

/// Start of the code.
pub const CODE: u64 = 0x200;

pub const X86_64: u16 = 62;
pub const AARCH64: u16 = 183;

/// Name, address and size; address 0 means undefined.
pub type FixtureSymbol = (&'static str, u64, u64);
/// Address, type, and symbol number, from 1.
pub type FixtureRelocation = (u64, u32, u32);

pub struct ElfFixture<'a> {
    pub machine: u16,
    pub code: &'a [u8],
    pub symbols: &'a [FixtureSymbol],
    pub relocations: &'a [FixtureRelocation],
    pub needed: &'a [&'a str],
    pub interpreter: Option<&'a str>,
    /// `DT_FLAGS_1`.
    pub flags: u64,
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl ElfFixture<'_> {
    pub fn file(&self) -> Vec<u8> {
        let mut file = vec![0; CODE as usize];
        file.extend(self.code);
        file.resize(file.len().next_multiple_of(8), 0);
        let mut put = |part: &[u8]| {
            let at = file.len() as u64;
            file.extend(part);
            file.resize(file.len().next_multiple_of(8), 0);
            (at, part.len() as u64)
        };
        let mut names = vec![0];
        let mut named = |name: &str| {
            let at = names.len() as u64;
            names.extend(name.bytes().chain([0]));
            at
        };
        let mut symbols = vec![0; 24];
        for (name, address, size) in self.symbols {
            symbols.extend(u32::try_from(named(name)).expect("small").to_le_bytes());
            // A global function; in the first section, or undefined.
            symbols.extend([0x12, 0, u8::from(*address != 0), 0]);
            symbols.extend(bytes(&[*address, *size]));
        }
        let mut dynamic: Vec<u64> = self.needed.iter().flat_map(|name| [1, named(name)]).collect();
        let relocations: Vec<u8> = self
            .relocations
            .iter()
            .flat_map(|(at, kind, symbol)| bytes(&[*at, u64::from(*symbol) << 32 | u64::from(*kind), 0]))
            .collect();
        let names = put(&names);
        let symbols = put(&symbols);
        let relocations = put(&relocations);
        dynamic.extend([5, names.0, 0x6fff_fffb, self.flags, 0, 0]);
        let dynamic = put(&bytes(&dynamic));
        let interpreter = self.interpreter.map(|name| put(&[name.as_bytes(), &[0]].concat()));
        let sections = file.len() as u64;
        // Name, type, flags, address, offset, size, link and info, alignment, entry size.
        let mut section = |kind: u64, (at, size): (u64, u64), link: u64, entry: u64| {
            file.extend(bytes(&[kind << 32, 0, at, at, size, link, 8, entry]));
        };
        section(0, (0, 0), 0, 0);
        section(11, symbols, 2, 24);
        section(3, names, 0, 0);
        section(4, relocations, 1, 24);
        let all = file.len() as u64;
        let mut parts: Vec<u64> = Vec::new();
        // Type and permissions, then offset, two addresses, two sizes, alignment.
        parts.extend([1 | 5 << 32, 0, 0, 0, all, all, 0x1000]);
        parts.extend([2 | 4 << 32, dynamic.0, dynamic.0, dynamic.0, dynamic.1, dynamic.1, 8]);
        if let Some((at, size)) = interpreter {
            parts.extend([3 | 4 << 32, at, at, at, size, size, 1]);
        }
        let head = [
            &b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"[..],
            &3_u16.to_le_bytes(),
            &self.machine.to_le_bytes(),
            &1_u32.to_le_bytes(),
            &bytes(&[CODE, 64, sections]),
            &[0; 4],
        ]
        .concat();
        let counts: [u16; 6] = [64, 56, (parts.len() / 7) as u16, 64, 4, 2];
        let counts: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).collect();
        let start = [head, counts, bytes(&parts)].concat();
        assert!(start.len() <= CODE as usize);
        file[..start.len()].copy_from_slice(&start);
        file
    }
}

/// A64 words.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// `fork` calls `_Fork` through a loader slot; `_Fork` makes the system call; `clone` is off the path.
pub fn library_aarch64() -> Vec<u8> {
    let code = words(&[
        // fork, at 0x200: stp x29,x30,[sp,#-16]!; bl plt; ldp x29,x30,[sp],#16; ret
        0xa9bf_7bfd,
        0x9400_0003,
        0xa8c1_7bfd,
        0xd65f_03c0,
        // plt, at 0x210: adrp x16,0x1000; ldr x17,[x16,#16]; add x16,x16,#16; br x17
        0xb000_0010,
        0xf940_0a11,
        0x9100_4210,
        0xd61f_0220,
        // _Fork, at 0x220: cbz x0,+8; nop; mov x0,#0x11; movk x0,#0x120,lsl #16; mov x8,#220; svc #0; ret
        0xb400_0040,
        0xd503_201f,
        0xd280_0220,
        0xf2a0_2400,
        0xd280_1b88,
        0xd400_0001,
        0xd65f_03c0,
        // clone, at 0x23c: mov x8,#220; svc #0; ret
        0xd280_1b88,
        0xd400_0001,
        0xd65f_03c0,
    ]);
    let symbols = [("fork", 0x200, 16), ("_Fork", 0x220, 28), ("clone", 0x23c, 12)];
    let relocations = [(0x1010, 1026, 2)];
    let made = ElfFixture {
        machine: AARCH64,
        code: &code,
        symbols: &symbols,
        relocations: &relocations,
        needed: &[],
        interpreter: None,
        flags: 0,
    };
    made.file()
}

/// `posix_spawn` jumps to a nameless function that calls one that calls clone3; where that fails, clone.
pub fn library_x86_64() -> Vec<u8> {
    let mut code = Vec::new();
    // posix_spawn, at 0x200: jmp 0x210
    code.extend([0xeb, 0x0e]);
    code.resize(0x10, 0x90);
    // spawn, at 0x210: call 0x220; cmp $-38,%eax; je 0x21c; ret; nop; 0x21c: jmp 0x240
    code.extend([0xe8, 0x0b, 0, 0, 0, 0x83, 0xf8, 0xda, 0x74, 0x02, 0xc3, 0x90, 0xeb, 0x22]);
    code.resize(0x20, 0x90);
    // clone3, at 0x220: mov $-22,%eax; test %rdi,%rdi; je 0x231; mov $435,%eax; syscall; 0x231: ret
    code.extend([0xb8, 0xea, 0xff, 0xff, 0xff, 0x48, 0x85, 0xff, 0x74, 0x07]);
    code.extend([0xb8, 0xb3, 1, 0, 0, 0x0f, 0x05, 0xc3]);
    code.resize(0x40, 0x90);
    // clone, at 0x240: xor %eax,%eax; mov $56,%al; syscall; ret
    code.extend([0x31, 0xc0, 0xb0, 0x38, 0x0f, 0x05, 0xc3]);
    code.resize(0x50, 0x90);
    // getpid, at 0x250: mov $39,%eax; syscall; ret. loop, at 0x260: call itself; call *%rax; ret
    code.extend([0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3]);
    code.resize(0x60, 0x90);
    code.extend([0xe8, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xd0, 0xc3]);
    let symbols = [
        ("posix_spawn", 0x200, 2),
        ("clone", 0x240, 7),
        ("__clone3", 0x220, 18),
        ("getpid", 0x250, 8),
        ("loop", 0x260, 8),
        ("elsewhere", 0, 0),
    ];
    let made = ElfFixture {
        machine: X86_64,
        code: &code,
        symbols: &symbols,
        relocations: &[],
        needed: &["libc.so.6", "libsqlite3.so.0"],
        interpreter: Some("/lib64/ld-linux-x86-64.so.2"),
        flags: 0x0800_0000,
    };
    made.file()
}
