//! Enums that are stored by name.

/// An enum whose variants have stable names in stored runs, JSON, exports and metrics. An unknown name, from another version of torment,
/// is kept as it is.
macro_rules! named {
    ($(#[$about:meta])* $type:ident { $($(#[$said:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $type {
            $($(#[$said])* $variant,)*
            /// A name that only another version of torment knows.
            Other(String),
        }

        impl $type {
            /// Its stable name.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<String> for $type {
            fn from(name: String) -> Self {
                match name.as_str() {
                    $($name => Self::$variant,)*
                    _ => Self::Other(name),
                }
            }
        }

        impl From<$type> for String {
            fn from(named: $type) -> Self {
                named.name().to_owned()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

pub(crate) use named;
