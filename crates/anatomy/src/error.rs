/// Why a file could not be read, or a way not be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither a program nor a library; what it begins with.
    #[error("{looks}: expected an ELF program or library, or a script with #!")]
    NotElf {
        /// What its first bytes show it to be.
        looks: String,
    },
    /// An ELF file whose head contradicts its content.
    #[error("a damaged ELF file: {what}")]
    Broken {
        /// What of it.
        what: String,
    },
    /// Code of a processor that is not decoded here.
    #[error("code for {found}: the machine code read here is that of x86-64 and aarch64")]
    Machine {
        /// Which.
        found: String,
    },
    /// No library given defines the function.
    #[error("no library given has a function {symbol}")]
    NoSymbol {
        /// The function.
        symbol: String,
    },
    /// A file of symbols that was made for another build of the library.
    #[error("symbols of another build: the build ids differ")]
    OtherBuild,
}
