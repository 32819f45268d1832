//! What one trial says about the capacity.

/// What one trial says about the capacity while it lasted, in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Observation {
    /// It was overloaded, and kept up this much.
    Measured(f64),
    /// It kept up with the offered rate.
    AtLeast(f64),
    /// It did not keep up; how much it did is unknown.
    Below(f64),
    /// It did this much under a long queue, and did not keep up with the rate.
    Between(f64, f64),
}

impl Observation {
    /// The capacity, if it was measured.
    pub fn measured(&self) -> Option<f64> {
        match self {
            Self::Measured(rate) => Some(*rate),
            _ => None,
        }
    }

    /// The same of logarithms.
    pub fn logs(self) -> Self {
        match self {
            Self::Measured(rate) => Self::Measured(rate.ln()),
            Self::AtLeast(rate) => Self::AtLeast(rate.ln()),
            Self::Below(rate) => Self::Below(rate.ln()),
            Self::Between(least, most) => Self::Between(least.ln(), most.ln()),
        }
    }

    /// The same, or the bound.
    pub fn rate(self) -> f64 {
        match self {
            Self::Measured(rate) | Self::AtLeast(rate) | Self::Below(rate) | Self::Between(_, rate) => rate,
        }
    }
}
