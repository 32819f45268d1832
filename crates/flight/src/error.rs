/// Why nothing can be read of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It begins as no chunk does, or is shorter than the head of one.
    #[error("not a Flight Recorder file: it does not begin with FLR and a head of 68 bytes")]
    NotFlight,
    /// Another version of the format.
    #[error("a Flight Recorder file of version {major}.{minor}: those of 2.x can be read")]
    Version {
        /// Before the point.
        major: u16,
        /// Behind it.
        minor: u16,
    },
    /// Integers of fixed length, which no released machine writes.
    #[error("a Flight Recorder file whose integers are not compressed: no JDK is known to write such")]
    Uncompressed,
}
