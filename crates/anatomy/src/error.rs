/// Why a file could not be read, or a path not be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither a program nor a library.
    #[error("{looks}: expected an ELF program or library, or a script with #!")]
    NotElf {
        /// What its first bytes look like.
        looks: String,
    },
    /// An ELF file with a header that contradicts its content.
    #[error("a damaged ELF file: {what}")]
    Broken {
        /// Which part.
        what: String,
    },
    /// Code of an unsupported architecture.
    #[error("code for {found}: the machine code read here is that of x86-64 and aarch64")]
    Machine {
        /// Which.
        found: String,
    },
    /// No given library defines the function.
    #[error("no library given has a function {symbol}")]
    NoSymbol {
        /// The function.
        symbol: String,
    },
    /// A debug file made for another build of the library.
    #[error("symbols of another build: the build ids differ")]
    OtherBuild,
}
