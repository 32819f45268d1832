use crate::placeholder::NameScope;
use crate::secret::{hide, masked_url};
use crate::url::{TargetUrl, UrlParts};
use crate::{DatabaseAddress, Error, SourceLocation, Target, Template, TemplatePiece};
use serde::{Deserialize, Serialize};

/// What is watched beside the load, and how. By default, whatever part of the target is on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchPlan {
    /// Watch at all.
    pub on: bool,
    /// These processes and their children, instead of whichever listen at the target's address.
    pub pids: Vec<u32>,
    /// The processes of this control group, a path below the mount.
    pub cgroup: Option<String>,
    /// The processes whose command line contains this.
    pub command: Option<String>,
    /// The PostgreSQL whose sessions are watched; by default the target, if it is one.
    pub postgres: Option<DatabaseAddress>,
    /// An endpoint in the Prometheus text format.
    pub metrics: Option<MetricsEndpoint>,
    /// Whether a Java virtual machine may be asked for its threads' stacks, once per verdict.
    pub attach: bool,
}

impl Default for WatchPlan {
    fn default() -> Self {
        Self {
            on: true,
            pids: Vec::new(),
            cgroup: None,
            command: None,
            postgres: None,
            metrics: None,
            attach: true,
        }
    }
}

impl WatchPlan {
    /// The URL of the PostgreSQL, its password in the clear: for connecting, never for display. Complete after
    /// [`crate::Plan::bind`].
    pub fn postgres_url(&self) -> Option<String> {
        self.postgres.as_ref().map(DatabaseAddress::url_in_clear)
    }

    /// The metrics URL in the clear, as [`WatchPlan::postgres_url`].
    pub fn metrics_url(&self) -> Option<String> {
        self.metrics.as_ref().map(MetricsEndpoint::url_in_clear)
    }

    /// Whether processes are named explicitly, rather than found by the target's address.
    pub fn names_processes(&self) -> bool {
        !self.pids.is_empty() || self.cgroup.is_some() || self.command.is_some()
    }

    /// Splits it into what another machine may be told, and what is asked from here because it takes a secret (mostly
    /// nothing).
    pub fn split_secrets(&self) -> (Self, Self) {
        let is_open = |database: &DatabaseAddress| database.password.is_none();
        let is_bare = |endpoint: &MetricsEndpoint| {
            endpoint.0.pieces.iter().all(|piece| !matches!(piece, TemplatePiece::Secret { .. }))
        };
        let shareable = Self {
            postgres: self.postgres.clone().filter(is_open),
            metrics: self.metrics.clone().filter(is_bare),
            ..self.clone()
        };
        let with_secrets = Self {
            postgres: self.postgres.clone().filter(|database| !is_open(database)),
            metrics: self.metrics.clone().filter(|endpoint| !is_bare(endpoint)),
            ..Self::default()
        };
        (shareable, with_secrets)
    }

    /// Without database and metrics: what is asked once need not be asked by another.
    pub fn processes_only(&self) -> Self {
        Self { postgres: None, metrics: None, ..self.clone() }
    }

    /// Whether a database or a metrics endpoint is watched.
    pub fn has_database_or_metrics(&self) -> bool {
        self.postgres.is_some() || self.metrics.is_some()
    }

    /// Texts that may hold a secret.
    pub(crate) fn templates_mut(&mut self) -> impl Iterator<Item = &mut Template> {
        let password = self.postgres.as_mut().and_then(|database| database.password.as_mut());
        password.into_iter().chain(self.metrics.as_mut().map(|endpoint| &mut endpoint.0))
    }
}

/// The URL of a metrics endpoint; what precedes its host is secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricsEndpoint(Template);

impl MetricsEndpoint {
    /// Parses an `http://` or `https://` URL. The error message is complete, and shows no secret.
    pub(crate) fn parse(text: &str, location: &SourceLocation) -> Result<Self, Error> {
        let wrong = |what: &str| Error::at(location, format!("'{}' is not {what}", masked_url(text)));
        let url = text.trim();
        let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let address = TargetUrl::parse(&full, &NameScope::default()).map_err(|e| Error::at(location, e))?;
        if !matches!(address.target, Target::Http(_)) {
            return Err(wrong(
                "the URL of a metrics endpoint, such as http://127.0.0.1:8080/actuator/prometheus",
            ));
        }
        let UrlParts { scheme, user, host, path } = UrlParts::parse(&full);
        let read = |text: &str| Template::parse(text).map_err(|e| Error::at(location, e.to_string()));
        let mut template = read(&format!("{scheme}://"))?;
        if let Some(user) = user {
            template.append(hide(read(user)?));
            template.append(Template::literal("@"));
        }
        template.append(read(&format!("{host}{path}"))?);
        if template
            .pieces
            .iter()
            .any(|piece| !matches!(piece, TemplatePiece::Literal(_) | TemplatePiece::Secret { .. }))
        {
            return Err(wrong(
                "a URL that is the same each time: only {env:NAME} and {secret:FILE} may stand in it",
            ));
        }
        template.resolve_paths(location);
        Ok(Self(template))
    }

    fn url_in_clear(&self) -> String {
        String::from_utf8_lossy(&self.0.constant()).into_owned()
    }
}

/// As it parses, without secrets.
impl std::fmt::Display for MetricsEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
