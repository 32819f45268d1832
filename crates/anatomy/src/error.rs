use std::fmt;

/// Why a file could not be read, or a way not be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Neither a program nor a library; what it begins with.
    NotElf {
        /// What its first bytes show it to be.
        looks: String,
    },
    /// An ELF file whose head contradicts its content.
    Broken {
        /// What of it.
        what: String,
    },
    /// Code of a processor that is not decoded here.
    Machine {
        /// Which.
        found: String,
    },
    /// No library given defines the function.
    NoSymbol {
        /// The function.
        symbol: String,
    },
    /// A file of symbols that was made for another build of the library.
    OtherBuild,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotElf { looks } => {
                write!(f, "{looks}: expected an ELF program or library, or a script with #!")
            }
            Self::Broken { what } => write!(f, "a damaged ELF file: {what}"),
            Self::Machine { found } => {
                write!(f, "code for {found}: the machine code read here is that of x86-64 and aarch64")
            }
            Self::NoSymbol { symbol } => write!(f, "no library given has a function {symbol}"),
            Self::OtherBuild => f.write_str("symbols of another build: the build ids differ"),
        }
    }
}

impl std::error::Error for Error {}
