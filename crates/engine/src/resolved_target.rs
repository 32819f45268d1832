//! Resolves the target before any load: looks up its name, chooses an address, loads certificates.

use crate::error::{CONNECT_LIMIT, Error};
use plan::{DatabaseAddress, HttpVersion, Origin, Target};
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where connections go.
#[derive(Debug, Clone)]
pub struct ResolvedTarget {
    pub(crate) socket_address: SocketAddress,
    pub(crate) tls: Option<Tls>,
    /// The target at this address.
    pub(crate) target: Target,
}

#[derive(Debug, Clone)]
pub(crate) enum SocketAddress {
    /// No socket: answered inside the engine.
    Null,
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// What a TLS session needs.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    pub config: Arc<ClientConfig>,
    pub name: ServerName<'static>,
}

impl ResolvedTarget {
    /// No target: the engine itself answers every request at once.
    pub fn null() -> Self {
        Self { socket_address: SocketAddress::Null, tls: None, target: Target::Null }
    }

    /// Looks up the name and loads the certificates. Of several addresses, uses the first that accepts a
    /// connection.
    ///
    /// Fails if the name does not resolve, or `SSL_CERT_FILE` names a file without certificates.
    ///
    /// # Panics
    /// If the target is the built-in service, whose address is known only once it runs.
    pub fn resolve(target: &Target) -> Result<Self, Error> {
        Self::resolve_trusting(target, None)
    }

    /// Like [`ResolvedTarget::resolve`], but trusts these authorities, in PEM, instead of those that
    /// `SSL_CERT_FILE` names.
    ///
    /// # Panics
    /// As [`ResolvedTarget::resolve`].
    pub fn resolve_trusting(target: &Target, authorities: Option<&[u8]>) -> Result<Self, Error> {
        match target {
            Target::Null => Ok(Self::null()),
            Target::Http(origin) => {
                let protocols: &[&[u8]] = match origin.http {
                    HttpVersion::Either => &[b"h2", b"http/1.1"],
                    HttpVersion::One => &[b"http/1.1"],
                    HttpVersion::Two => &[b"h2"],
                };
                let to = origin.to_string();
                let tls = || tls(&to, &origin.host, origin.insecure, protocols, authorities);
                let socket = origin.unix_socket.clone();
                Self::at(target, origin.tls.then(tls), socket, &origin.host, origin.port)
            }
            Target::Sql(database) => {
                let host = database.host.as_str();
                let tls = || tls(host, host, database.insecure, &[b"postgresql"], authorities);
                Self::at(target, database.tls.then(tls), socket_path(database), host, database.port)
            }
            Target::Demo => panic!("the built-in service has no place before it runs"),
        }
    }

    fn at(
        target: &Target,
        tls: Option<Result<Tls, Error>>,
        socket: Option<PathBuf>,
        host: &str,
        port: u16,
    ) -> Result<Self, Error> {
        let tls = tls.transpose()?;
        let socket_address = match socket {
            Some(path) => SocketAddress::Unix(path),
            None => SocketAddress::Tcp(
                sys::resolve_host(host, port, CONNECT_LIMIT)
                    .map_err(|why| Error::Resolve { host: host.to_owned(), why })?,
            ),
        };
        Ok(Self { socket_address, tls, target: target.clone() })
    }

    /// The target that was resolved.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whether the connection begins with TLS; if not, but there is TLS, the protocol requests it.
    pub(crate) fn begins_with_tls(&self) -> bool {
        matches!(self.target, Target::Http(_)) && self.tls.is_some()
    }

    /// Concurrent requests that one connection can be counted on to carry.
    pub(crate) fn streams(&self) -> usize {
        match &self.target {
            Target::Http(Origin { http: HttpVersion::Two, streams, .. }) => (*streams).max(1) as usize,
            _ => 1,
        }
    }

    /// Value of the `Host` header.
    pub(crate) fn authority(&self) -> String {
        match &self.target {
            Target::Http(origin) => origin.authority(),
            _ => "null".to_owned(),
        }
    }

    /// The host's name or address, without a port.
    pub(crate) fn host(&self) -> &str {
        match &self.target {
            Target::Http(origin) => &origin.host,
            _ => "",
        }
    }

    /// The address, for display.
    pub fn describe(&self) -> String {
        match &self.socket_address {
            SocketAddress::Null => "null".to_owned(),
            SocketAddress::Tcp(address) => address.to_string(),
            SocketAddress::Unix(path) => path.display().to_string(),
        }
    }

    /// The address, for TCP.
    pub fn address(&self) -> Option<SocketAddr> {
        match &self.socket_address {
            SocketAddress::Tcp(address) => Some(*address),
            SocketAddress::Null | SocketAddress::Unix(_) => None,
        }
    }

    /// The path of a Unix socket.
    pub fn path(&self) -> Option<&Path> {
        match &self.socket_address {
            SocketAddress::Unix(path) => Some(path),
            SocketAddress::Null | SocketAddress::Tcp(_) => None,
        }
    }

    /// How many connections the available ports allow at once; `None` if unlimited.
    ///
    /// Each source address has its ephemeral ports (ip(7), `ip_local_port_range`) once per target. IPv4
    /// loopback has sixteen million source addresses.
    pub fn port_limit(&self) -> Option<u64> {
        let SocketAddress::Tcp(address) = &self.socket_address else { return None };
        if address.ip().is_loopback() && address.is_ipv4() {
            return None;
        }
        sys::ephemeral_port_count()
    }

    /// Whether it is on this machine's loopback.
    pub fn is_local(&self) -> bool {
        match &self.socket_address {
            SocketAddress::Tcp(address) => address.ip().is_loopback(),
            SocketAddress::Null | SocketAddress::Unix(_) => true,
        }
    }
}

/// The socket of a server whose host is a folder.
fn socket_path(database: &DatabaseAddress) -> Option<PathBuf> {
    let name = format!(".s.PGSQL.{}", database.port);
    database.host.starts_with('/').then(|| PathBuf::from(&database.host).join(name))
}

/// Names a file of authorities trusted in addition to torment's own.
const CA_FILE_VARIABLE: &str = "SSL_CERT_FILE";

/// The contents and name of that file; `None` if none is named.
fn own_authorities() -> Result<Option<(Vec<u8>, String)>, String> {
    let Some(file) = std::env::var_os(CA_FILE_VARIABLE) else { return Ok(None) };
    let name = file.display().to_string();
    let text = std::fs::read(&file).map_err(|why| format!("{CA_FILE_VARIABLE} {name}: {why}"))?;
    Ok(Some((text, name)))
}

/// The authorities, in PEM, that this process trusts besides torment's own, for another process with the same
/// target; `None` if none are named, or not needed.
///
/// Fails if the file that `SSL_CERT_FILE` names cannot be read.
pub fn ca_certificates(target: &Target) -> Result<Option<Vec<u8>>, Error> {
    let (to, needs_ca) = match target {
        Target::Http(origin) => (origin.to_string(), origin.tls && !origin.insecure),
        Target::Sql(database) => (database.host.clone(), database.tls && !database.insecure),
        Target::Demo | Target::Null => return Ok(None),
    };
    let own = if needs_ca { own_authorities() } else { Ok(None) };
    Ok(own.map_err(|why| Error::Tls { to, why })?.map(|(text, _)| text))
}

/// For sessions with `host` that offer `protocols` (ALPN).
fn tls(
    to: &str,
    host: &str,
    insecure: bool,
    protocols: &[&[u8]],
    authorities: Option<&[u8]>,
) -> Result<Tls, Error> {
    let error = |why: String| Error::Tls { to: to.to_owned(), why };
    let name = ServerName::try_from(host.to_owned())
        .map_err(|e| error(format!("'{host}' is not a name that a certificate can have: {e}")))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("aws-lc-rs supports the default versions");
    let mut config = if insecure {
        let any = Arc::new(insecure::AcceptAny(provider));
        builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth()
    } else {
        let mut roots = rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let named = match authorities {
            Some(trusted) => Some((trusted.to_vec(), "the authorities that the run trusts".to_owned())),
            None => own_authorities()
                .map_err(error)?
                .map(|(text, file)| (text, format!("{CA_FILE_VARIABLE} {file}"))),
        };
        if let Some((text, named)) = named {
            let certificates = CertificateDer::pem_slice_iter(&text);
            let (added, _) = roots.add_parsable_certificates(certificates.filter_map(Result::ok));
            if added == 0 {
                return Err(error(format!("{named}: it holds no certificate in PEM form")));
            }
        }
        builder.with_root_certificates(roots).with_no_client_auth()
    };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Tls { config: Arc::new(config), name })
}

/// `--insecure`.
mod insecure {
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};
    use std::sync::Arc;

    /// Accepts any certificate for any name; still checks that the server holds its key.
    #[derive(Debug)]
    pub struct AcceptAny(pub Arc<CryptoProvider>);

    impl ServerCertVerifier for AcceptAny {
        fn verify_server_cert(
            &self,
            _end_entity: &CertificateDer<'_>,
            _intermediates: &[CertificateDer<'_>],
            _server_name: &ServerName<'_>,
            _ocsp_response: &[u8],
            _now: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
        }
        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
        }
        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_where_the_socket_is() {
        let database = DatabaseAddress {
            host: "/run/pg".to_owned(),
            port: 5433,
            user: "me".to_owned(),
            password: None,
            name: "db".to_owned(),
            tls: false,
            insecure: false,
        };
        assert_eq!(socket_path(&database), Some(PathBuf::from("/run/pg/.s.PGSQL.5433")));
        assert_eq!(socket_path(&DatabaseAddress { host: "h".to_owned(), ..database }), None);
    }
}
