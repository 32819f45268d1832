//! Parses the address of a database.

use postgres::config::{Config, Host, SslMode};
use std::str::FromStr;
use std::time::Duration;

/// Time limit for the network to establish a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long sent data may stay unacknowledged.
const LOST_AFTER: Duration = Duration::from_secs(5);
/// Default port.
const PORT: u16 = 5432;

/// A database, and the user to query it as.
#[derive(Clone)]
pub(super) struct Address {
    pub config: Config,
    /// `127.0.0.1:5432` or `unix /run/postgresql/.s.PGSQL.5432`: no user, no password.
    pub location: String,
}

impl Address {
    /// Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with or without a leading `jdbc:`, or `host=…
    /// user=… dbname=…`.
    ///
    /// Fails, with a sentence that holds no password, if it cannot be parsed or its host has no address.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let text = text.strip_prefix("jdbc:").unwrap_or(text);
        let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
        let mut config = Config::from_str(text).map_err(|e| parse_error(&super::format_error(&e), is_url))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err("it asks for TLS (sslmode=require), but the sessions are watched without: write \
                        sslmode=disable and an address that accepts this, such as the folder of its socket \
                        (host=/run/postgresql)"
                .to_owned());
        }
        let location = locate(&mut config)?;
        if config.get_user().is_none() {
            let user = ["PGUSER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
            config.user(&user.ok_or("it names no user: write postgres://USER@HOST/DATABASE")?);
        }
        if config.get_password().is_none()
            && let Ok(password) = std::env::var("PGPASSWORD")
        {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.tcp_user_timeout(LOST_AFTER).application_name("torment");
        Ok(Self { config, location })
    }
}

/// Omits the library's message where it could hold part of the password: a space in it splits `password=…`
/// in two.
fn parse_error(words: &str, is_url: bool) -> String {
    let expected = "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE or host=… user=… dbname=…";
    match words {
        words if words.contains("sslmode") => {
            "its sslmode is neither disable nor prefer, and the sessions are watched without TLS: write \
             sslmode=disable and an address that accepts this, such as the folder of its socket"
                .to_owned()
        }
        words if is_url => format!("it cannot be read ({words}); {expected}"),
        _ => format!("it cannot be read; {expected}"),
    }
}

/// Resolves all names: the library would use the C library's resolver.
fn locate(config: &mut Config) -> Result<String, String> {
    let hosts = config.get_hosts().to_vec();
    let ports = config.get_ports().to_vec();
    let port = |i: usize| ports.get(i).or(ports.first()).copied().unwrap_or(PORT);
    if !config.get_hostaddrs().is_empty() {
        return Ok(format!("{}:{}", config.get_hostaddrs()[0], port(0)));
    }
    let mut location = None;
    for (i, host) in hosts.iter().enumerate() {
        let here = match host {
            Host::Unix(folder) => format!("unix {}/.s.PGSQL.{}", folder.display(), port(i)),
            Host::Tcp(name) => {
                let address = crate::resolve(name, port(i))?;
                config.hostaddr(address.ip());
                address.to_string()
            }
        };
        location.get_or_insert(here);
    }
    location.ok_or_else(|| "it names no host: write postgres://USER@HOST/DATABASE".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, place: &str, database: Option<&str>) {
        let address = Address::parse(text).expect(text);
        assert_eq!(address.location, place, "{text}");
        assert_eq!(address.config.get_dbname(), database, "{text}");
        assert_eq!(address.config.get_application_name(), Some("torment"), "{text}");
    }

    #[test]
    fn addresses_are_read_as_users_write_them() {
        check("postgres://u:p@127.0.0.1:5433/shop", "127.0.0.1:5433", Some("shop"));
        check("postgresql://u@127.0.0.1/shop?sslmode=disable", "127.0.0.1:5432", Some("shop"));
        check("postgres://u@[::1]:5433/shop", "[::1]:5433", Some("shop"));
        check("postgres://u@%2Frun%2Fpg:5433/shop", "unix /run/pg/.s.PGSQL.5433", Some("shop"));
        check("postgres:///shop?host=/run/pg&user=u", "unix /run/pg/.s.PGSQL.5432", Some("shop"));
        check("host=127.0.0.1 port=5433 user=u password='a b' dbname=shop", "127.0.0.1:5433", Some("shop"));
        check("host=/run/pg user=u", "unix /run/pg/.s.PGSQL.5432", None);
        check("jdbc:postgresql://127.0.0.1:5433/shop?user=u&password=p", "127.0.0.1:5433", Some("shop"));
        check("  postgres://u@localhost:1/shop ", "127.0.0.1:1", Some("shop"));
    }

    #[test]
    fn what_cannot_be_read_is_said_without_the_password() {
        for (text, part) in [
            ("postgres://u:geheim@127.0.0.1/shop?sslmode=require", "sslmode=disable"),
            ("postgres://u:geheim@127.0.0.1/shop?sslmode=verify-full", "sslmode=disable"),
            ("postgres://u:geheim@127.0.0.1:port/shop", "cannot be read"),
            ("postgres://u:geheim@127.0.0.1/shop?wallet=1", "wallet"),
            ("host=127.0.0.1 user=u password=mein geheim=1", "expected postgres://"),
            ("mysql://u:geheim@127.0.0.1/shop", "expected postgres://"),
            ("postgres:///shop", "names no host"),
            ("", "names no host"),
        ] {
            let Err(why) = Address::parse(text) else { panic!("{text} was accepted") };
            assert!(why.contains(part), "{text}: {why}");
            assert!(!why.contains("geheim"), "{text}: {why}");
        }
    }
}
