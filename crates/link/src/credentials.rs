//! Certificates and keys: who may join, in which role.

use crate::Error;
use fleet::FleetRole;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tolerated difference between machines' clocks; beyond it certificates are rejected.
const CLOCKS_APART: Duration = Duration::from_secs(24 * 3600);
/// First line of a join file.
const FIRST_LINE: &str = "# Lets one process into a run of torment: keep it from others.";
const ADDRESS_PREFIX: &str = "at ";

/// The certificate authority of one run. Its key lives as long as this value; after that no more credentials can be
/// issued.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    lifetime: Duration,
}

/// One process's certificate for its role, the key, and the authority it trusts.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// In PEM: the authority, its own certificate, the key.
    pem: String,
}

/// Credentials, and where to use them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinFile {
    /// `HOST:PORT` of the coordinator.
    pub address: String,
    /// Accepted there.
    pub credentials: Credentials,
}

fn failed(why: impl fmt::Display) -> Error {
    Error::Credentials(why.to_string())
}

impl Authority {
    /// For a run no longer than this.
    ///
    /// # Errors
    /// If the machine has no randomness.
    pub fn new(lifetime: Duration) -> Result<Self, Error> {
        let mut params = params("torment", lifetime);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().map_err(failed)?;
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, key).map_err(failed)?, lifetime })
    }

    /// Credentials for one process in this role.
    ///
    /// # Errors
    /// As for [`Authority::new`].
    pub fn issue(&self, role: FleetRole) -> Result<Credentials, Error> {
        let mut params = params(role.name(), self.lifetime);
        params.subject_alt_names =
            CertificateParams::new(vec![role.name().to_owned()]).map_err(failed)?.subject_alt_names;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match role {
            FleetRole::Coordinator => ExtendedKeyUsagePurpose::ServerAuth,
            FleetRole::Worker | FleetRole::Watcher | FleetRole::Owner => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(Credentials { pem: format!("{}{}{}", self.issuer.pem(), certificate.pem(), key.serialize_pem()) })
    }
}

/// Certificate parameters, valid from a day ago until the run is over.
fn params(name: &str, lifetime: Duration) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = |time: Duration| date_time_ymd(1970, 1, 1) + Duration::from_secs(time.as_secs());
    params.not_before = at(now.saturating_sub(CLOCKS_APART));
    params.not_after = at(now + lifetime + CLOCKS_APART);
    params
}

impl Credentials {
    pub(crate) fn server_config(&self) -> Result<Arc<ServerConfig>, Error> {
        let (roots, certificate, key) = self.parse()?;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(failed)?
            .with_client_cert_verifier(verifier.build().map_err(failed)?)
            .with_single_cert(vec![certificate], key)
            .map_err(failed)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        // Every peer connects once and is verified then.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    pub(crate) fn client_config(&self) -> Result<Arc<ClientConfig>, Error> {
        let (roots, certificate, key) = self.parse()?;
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(failed)?
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate], key)
            .map_err(failed)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }

    fn parse(&self) -> Result<(RootCertStore, CertificateDer<'static>, PrivateKeyDer<'static>), Error> {
        let certificates = CertificateDer::pem_slice_iter(self.pem.as_bytes());
        let certificates: Vec<_> = certificates.collect::<Result<_, _>>().map_err(failed)?;
        let [authority, own] = certificates.as_slice() else {
            let held = certificates.len();
            return Err(failed(format!(
                "it holds {held} certificates instead of two: copy it once more, all of it"
            )));
        };
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone()).map_err(failed)?;
        let key = PrivateKeyDer::from_pem_slice(self.pem.as_bytes())
            .map_err(|why| failed(format!("it holds no key ({why}): copy it once more, all of it")))?;
        Ok((roots, own.clone(), key))
    }
}

/// The coordinator's name in its certificate.
pub(crate) fn coordinator_name() -> ServerName<'static> {
    ServerName::try_from(FleetRole::Coordinator.name()).expect("it is a name")
}

/// Whether a trusted certificate is for this role.
pub(crate) fn has_role(certificate: Option<&CertificateDer<'_>>, role: FleetRole) -> bool {
    let name = ServerName::try_from(role.name()).expect("it is a name");
    certificate
        .and_then(|certificate| ParsedCertificate::try_from(certificate).ok())
        .is_some_and(|parsed| rustls::client::verify_server_name(&parsed, &name).is_ok())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

impl JoinFile {
    /// The content of the join file, which only its reader may read.
    pub fn to_text(&self) -> String {
        format!("{FIRST_LINE}\n{ADDRESS_PREFIX}{}\n{}", self.address, self.credentials.pem)
    }
}

impl FromStr for JoinFile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let none =
            || failed("it is no file of torment's; expected a copy of the run.join or watch.join of the run");
        let rest = text.trim_start().strip_prefix(FIRST_LINE).ok_or_else(none)?;
        let line = rest
            .trim_start()
            .split_once('\n')
            .and_then(|(line, pem)| Some((line.strip_prefix(ADDRESS_PREFIX)?, pem)));
        let (at, pem) = line.ok_or_else(|| {
            failed("it does not say where the coordinator is: copy it once more, all of it")
        })?;
        let file = Self { address: at.trim().to_owned(), credentials: Credentials { pem: pem.to_owned() } };
        file.credentials.parse()?;
        Ok(file)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("lasts", &self.lifetime).finish_non_exhaustive()
    }
}
