//! The page that a path names, and its parameters.

use std::str::FromStr;

units::named! {
    /// Everything the service answers; the log counts by these.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Route {
        Delay = "/delay",
        Queue = "/queue",
        Pool = "/pool",
        Stall = "/stall",
        Warm = "/warm",
        Shed = "/shed",
        Status = "/status/{code}",
        Bytes = "/bytes",
        Continue = "/continue",
        Echo = "/echo",
        Json = "/json",
        Healthz = "/healthz",
        Home = "/",
        Owner = "/owners/{id}",
        NewOwner = "/owners/new",
        CountOwners = "/owners/count",
        Fortunes = "/fortunes",
        Fault = "/fault/{kind}",
        Burn = "/burn",
        Unknown = "(unknown)",
        /// Not counted: reading the log must not change it.
        Truth = "/truth",
    }
}

impl Route {
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// The route of a path; `/owners/7` and `/owners/8` are one.
    pub(crate) fn of(path: &str) -> Self {
        Self::ALL.into_iter().find(|route| route.name() == path).unwrap_or_else(|| match path {
            _ if path.starts_with("/owners/") => Self::Owner,
            _ if path.starts_with("/status/") => Self::Status,
            _ if path.starts_with("/fault/") => Self::Fault,
            _ => Self::Unknown,
        })
    }

    /// The methods it accepts, as in an `Allow` header; `None` accepts any, so that a load
    /// with bodies can be aimed at it.
    pub(crate) fn allow(self) -> Option<&'static str> {
        match self {
            Self::NewOwner => Some("POST"),
            Self::Home | Self::Owner | Self::CountOwners | Self::Fortunes | Self::Truth => Some("GET, HEAD"),
            _ => None,
        }
    }
}

/// The parameters of a query: `us=500&limit=10`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameters<'a>(pub(crate) &'a str);

impl<'a> Parameters<'a> {
    /// A text verbatim, if given.
    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        self.0.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (key == name).then_some(value)
        })
    }

    /// A number between two bounds, or the default if not given. The error is a sentence
    /// that says what is valid.
    pub(crate) fn number<T>(self, name: &str, default: T, least: T, most: T) -> Result<T, String>
    where
        T: FromStr + PartialOrd + std::fmt::Display,
    {
        let Some(text) = self.text(name) else {
            return Ok(default);
        };
        match text.parse() {
            // NaN fails both comparisons, and is refused like any other nonsense.
            Ok(value) if value >= least && value <= most => Ok(value),
            _ => Err(format!("{name} is '{text}'; it must be a number from {least} to {most}")),
        }
    }

    /// Whether a switch is on: `chunked=1`.
    pub(crate) fn switch(self, name: &str) -> Result<bool, String> {
        match self.text(name) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(text) => Err(format!("{name} is '{text}'; it must be 0 or 1")),
        }
    }

    /// A duration with its unit: `every=10s`.
    pub(crate) fn duration(self, name: &str, default: units::Nanos) -> Result<units::Nanos, String> {
        match self.text(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|e: units::ParseError| format!("{name}: {e}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_find_their_route() {
        for (path, route) in [
            ("/", Route::Home),
            ("/owners/7", Route::Owner),
            ("/owners/new", Route::NewOwner),
            ("/owners/count", Route::CountOwners),
            ("/status/404", Route::Status),
            ("/fault/cpu", Route::Fault),
            ("/burn", Route::Burn),
            ("/owners", Route::Unknown),
            ("/delay/", Route::Unknown),
            ("*", Route::Unknown),
            ("", Route::Unknown),
        ] {
            assert_eq!(Route::of(path), route, "{path}");
        }
        for (number, route) in Route::ALL.iter().enumerate() {
            assert_eq!(*route as usize, number);
        }
    }

    #[test]
    fn parameters_are_checked_at_the_door() {
        let p = Parameters("ms=2.5&n=3&n=4&empty=&on=1&off=0&odd=yes&every=10s&bad=NaN&huge=1e999");
        assert_eq!(p.number("ms", 1.0, 0.0, 10.0), Ok(2.5));
        assert_eq!(p.number("n", 1, 0, 10), Ok(3), "the first one counts");
        assert_eq!(p.number("absent", 7, 0, 10), Ok(7));
        assert_eq!(p.number("n", 1, 5, 10), Err("n is '3'; it must be a number from 5 to 10".to_owned()));
        assert!(p.number("empty", 1, 0, 10).is_err());
        assert!(p.number("bad", 1.0, 0.0, 10.0).is_err());
        assert!(p.number("huge", 1.0, 0.0, 10.0).is_err());
        assert_eq!((p.switch("on"), p.switch("off"), p.switch("absent")), (Ok(true), Ok(false), Ok(false)));
        assert!(p.switch("odd").is_err());
        assert_eq!(p.duration("every", units::Nanos::ZERO), Ok(units::Nanos::from_secs(10)));
        assert!(p.duration("odd", units::Nanos::ZERO).is_err());
    }
}
