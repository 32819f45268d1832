//! Where pods may run: one of the user's contexts, a namespace in it, and what is known of it without asking the
//! cluster.

use crate::error::{Error, last_line};
use crate::kubectl::{Kubectl, run_without_server};
use crate::manifests::{AvoidedPods, Manifests, PodDuty, architecture};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Namespace if none is given.
const DEFAULT_NAMESPACE: &str = "default";

/// What was asked for besides the number of pods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodOptions {
    /// `CONTEXT`, `CONTEXT/NAMESPACE` or `/NAMESPACE`, as the user's kubectl knows them; `None`: kubectl's default.
    pub place: Option<String>,
    /// Image of the pods; `None`: the one `torment image` makes of this build.
    pub image: Option<String>,
    /// Processors per worker; `None`: one.
    pub worker_cpus: Option<u32>,
    /// Workers may run on the target's nodes.
    pub beside_target: bool,
    /// The target's service: `NAMESPACE/NAME`; `None`: derived from the target's host.
    pub target_service: Option<(String, String)>,
}

/// A namespace of a cluster, and the options for it.
#[derive(Debug, Clone)]
pub struct PodSite {
    pub(crate) kubectl: Kubectl,
    pub(crate) options: PodOptions,
    /// The image that goes with this build.
    own_image: String,
    /// Host and port of the API server.
    server: Option<(String, u16)>,
}

impl PodSite {
    /// Finds it among the user's contexts without asking the cluster. `build` is the tag of this torment's image.
    ///
    /// # Errors
    /// If there is no kubectl, or it knows no such context.
    pub fn find(options: PodOptions, build: &str) -> Result<Self, Error> {
        let output = run_without_server("its contexts", &["config", "view", "-o", "json"])?;
        if !output.succeeded {
            return Err(Error::Explained(format!(
                "kubectl cannot read its contexts: {}; kubectl config view says the same",
                last_line(&output.stderr).trim_start_matches("error: ")
            )));
        }
        let config: Value = serde_json::from_str(&output.stdout)
            .map_err(|why| Error::Explained(format!("kubectl's contexts cannot be read: {why}")))?;
        let (kubectl, server) = find_context(&config, options.place.as_deref()).map_err(Error::Explained)?;
        Ok(Self { kubectl, options, own_image: format!("torment:{build}"), server })
    }

    /// Namespace and context, for people.
    pub fn describe(&self) -> String {
        let Kubectl { context, namespace } = &self.kubectl;
        format!("namespace {namespace} of {context}")
    }

    /// As `--on` takes it.
    pub fn on_option(&self) -> String {
        let Kubectl { context, namespace } = &self.kubectl;
        format!("k8s:{context}/{namespace}")
    }

    /// As `--watch-on` takes it, for watchers inside the target's pods.
    pub fn watch_on_option(&self) -> String {
        format!("inside:{}", self.kubectl.context)
    }

    /// Another namespace of the same cluster.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Self {
        let kubectl = Kubectl { namespace: namespace.to_owned(), ..self.kubectl.clone() };
        Self { kubectl, ..self.clone() }
    }

    /// The API server: the route there is also the one by which pods reach this machine.
    pub fn server(&self) -> Option<(&str, u16)> {
        self.server.as_ref().map(|(host, port)| (host.as_str(), *port))
    }

    /// Image of the pods.
    pub fn image(&self) -> &str {
        self.options.image.as_deref().unwrap_or(&self.own_image)
    }

    /// All of a run's objects but the join file, as YAML with comments for people. The cluster is not asked.
    pub fn manifests(&self, workers: u32, deadline_seconds: u64) -> String {
        self.objects("by-hand".to_owned(), workers, PodDuty::Work(None), deadline_seconds).render_all()
    }

    pub(crate) fn objects(&self, id: String, count: u32, duty: PodDuty, deadline_seconds: u64) -> Manifests {
        // The architectures of somebody else's image are unknown.
        let kind = self.options.image.is_none().then(|| architecture().to_owned());
        Manifests {
            id,
            count,
            cpus: self.options.worker_cpus.unwrap_or(1),
            duty,
            image: self.image().to_owned(),
            architecture: kind,
            inside_pods: Vec::new(),
            deadline_seconds,
        }
    }

    /// The target's service, as given, or as its host may name it.
    fn service_of(&self, host: &str) -> Option<(String, String)> {
        let given = self.options.target_service.clone();
        given.or_else(|| parse_service_name(host, &self.kubectl.namespace)).or_else(|| {
            let address = host.trim_matches(['[', ']']).parse().ok()?;
            self.service_at(address)
        })
    }

    /// The service with this cluster IP; if the user may not look everywhere, only within the given namespace.
    fn service_at(&self, address: IpAddr) -> Option<(String, String)> {
        let selector = format!("spec.clusterIP={address}");
        let ask = |where_else: &[&str]| {
            let arguments = [&["get", "services", "--field-selector", &selector, "-o", "json"], where_else];
            let answer = self.kubectl.ask("asking for the target's service", &arguments.concat(), "").ok()?;
            serde_json::from_str(&answer).ok()
        };
        let services: Value = ask(&["--all-namespaces"]).or_else(|| ask(&[]))?;
        let found = &services["items"][0]["metadata"];
        Some((found["namespace"].as_str()?.to_owned(), found["name"].as_str()?.to_owned()))
    }

    /// The pods behind the target at `host`: those of the service that it names, or that was given.
    ///
    /// # Errors
    /// If it is no service, has no pods, or the user may not see them; says what helps.
    pub fn target_pods(&self, host: &str) -> Result<Vec<TargetPod>, Error> {
        let Some((namespace, name)) = self.service_of(host) else {
            return Err(Error::Explained(format!(
                "{host} names no service of the cluster, so that nobody knows which pods to watch; say which is the target: \
                 --target-service NAMESPACE/NAME"
            )));
        };
        let place = self.in_namespace(&namespace).kubectl;
        let selector = format!("kubernetes.io/service-name={name}");
        let arguments = ["get", "endpointslices", "-l", &selector, "-o", "json"];
        let answer = place.ask("asking for the target's pods", &arguments, "")?;
        let pods = parse_endpoints(&serde_json::from_str(&answer).unwrap_or_default(), &namespace);
        if pods.is_empty() {
            return Err(Error::Explained(format!(
                "service {name} in namespace {namespace} has no pods that run on a node (or is none): say which service is the target, \
                 --target-service NAMESPACE/NAME"
            )));
        }
        Ok(pods)
    }

    /// The labels common to the pods behind the target, if its host names a visible service; fails if that should be
    /// known but is not.
    pub(crate) fn avoided_pods(&self, host: &str) -> Result<Option<AvoidedPods>, Error> {
        if self.options.beside_target {
            return Ok(None);
        }
        let is_named = self.options.target_service.is_some();
        let Some((namespace, name)) = self.service_of(host) else { return Ok(None) };
        let place = self.in_namespace(&namespace).kubectl;
        let arguments = ["get", "service", &name, "-o", "json", "--ignore-not-found"];
        let answer = match place.ask("asking for the target's service", &arguments, "") {
            // Whether a name is a service's is only a guess.
            Err(Error::Explained(_)) if !is_named => return Ok(None),
            answer => answer?,
        };
        let service: Value = serde_json::from_str(&answer).unwrap_or_default();
        let labels = labels(&service["spec"]["selector"]);
        if labels.is_empty() && is_named {
            return Err(Error::Explained(format!(
                "there is no service {name} with pods in namespace {namespace}"
            )));
        }
        Ok(Some(AvoidedPods { namespace, labels }).filter(|apart| !apart.labels.is_empty()))
    }
}

/// One of the pods behind the target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetPod {
    /// Where it runs.
    pub node: String,
    /// Identifies its control group.
    pub uid: String,
    /// Where it is in the cluster.
    pub namespace: String,
    /// Its name, which is also its hostname.
    pub name: String,
}

/// From a list of EndpointSlices in this namespace, each once, grouped by node.
fn parse_endpoints(list: &Value, namespace: &str) -> Vec<TargetPod> {
    let all = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let endpoints = all(list, "items").into_iter().flat_map(|slice| all(&slice, "endpoints"));
    let mut pods: Vec<TargetPod> = endpoints
        .filter_map(|endpoint| {
            let node = endpoint["nodeName"].as_str()?.to_owned();
            let pod = Some(&endpoint["targetRef"]).filter(|target| target["kind"] == "Pod")?;
            let name = pod["name"].as_str().unwrap_or_default().to_owned();
            Some(TargetPod {
                node,
                uid: pod["uid"].as_str()?.to_owned(),
                namespace: namespace.to_owned(),
                name,
            })
        })
        .collect();
    // A dual-stack pod is in two slices.
    pods.sort_unstable();
    pods.dedup();
    pods
}

fn labels(selector: &Value) -> BTreeMap<String, String> {
    let pairs = selector.as_object().into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The service this name may refer to, from within a namespace: `(namespace, name)`.
fn parse_service_name(host: &str, own: &str) -> Option<(String, String)> {
    let is_label =
        |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let parts: Vec<&str> = host.trim_end_matches('.').split('.').collect();
    if !parts.iter().all(is_label) || host.parse::<IpAddr>().is_ok() {
        return None;
    }
    match parts.as_slice() {
        ["localhost"] => None,
        [name] => Some((own.to_owned(), (*name).to_owned())),
        [name, namespace] | [name, namespace, "svc", ..] => {
            Some(((*namespace).to_owned(), (*name).to_owned()))
        }
        _ => None,
    }
}

/// Context and namespace from a kubectl configuration; host and port of its server.
type KubeContext = (Kubectl, Option<(String, u16)>);

fn find_context(config: &Value, place: Option<&str>) -> Result<KubeContext, String> {
    let list = |key: &str| config[key].as_array().cloned().unwrap_or_default();
    let contexts = list("contexts");
    let named = |name: &str| contexts.iter().find(|context| context["name"] == name);
    let place = place.unwrap_or_default();
    // A context's name may contain slashes; a namespace's may not.
    let (name, namespace) = match place.rsplit_once('/') {
        Some((name, namespace)) if named(place).is_none() => (name, Some(namespace)),
        _ => (place, None),
    };
    let name = if name.is_empty() { config["current-context"].as_str().unwrap_or_default() } else { name };
    let Some(context) = named(name) else {
        let known: Vec<&str> = contexts.iter().filter_map(|context| context["name"].as_str()).collect();
        return Err(match (name, known.as_slice()) {
            ("", []) => "kubectl has no context: log in to a cluster as usual".to_owned(),
            ("", known) => {
                format!("kubectl has no current context: name one of {}, as k8s:CONTEXT", known.join(", "))
            }
            (_, []) => {
                format!("kubectl knows no context {name}, nor any other: log in to a cluster as usual")
            }
            (_, known) => format!("kubectl knows no context {name}; it knows {}", known.join(", ")),
        });
    };
    let own = context["context"]["namespace"].as_str().filter(|namespace| !namespace.is_empty());
    let namespace = namespace.filter(|namespace| !namespace.is_empty()).or(own).unwrap_or(DEFAULT_NAMESPACE);
    let cluster =
        list("clusters").into_iter().find(|cluster| cluster["name"] == context["context"]["cluster"]);
    let server = cluster.and_then(|cluster| host_and_port(cluster["cluster"]["server"].as_str()?));
    Ok((Kubectl { context: name.to_owned(), namespace: namespace.to_owned() }, server))
}

/// Parses `https://HOST:PORT/…`.
fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let place = rest.split('/').next()?;
    let default = if scheme == "http" { 80 } else { 443 };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()?),
        _ => (place, default),
    };
    (!host.is_empty()).then(|| (host.trim_matches(['[', ']']).to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config() -> Value {
        json!({
            "current-context": "lab",
            "contexts": [
                {"name": "lab", "context": {"cluster": "a", "namespace": "load"}},
                {"name": "arn:aws:eks:x:1:cluster/big", "context": {"cluster": "b"}},
            ],
            "clusters": [
                {"name": "a", "cluster": {"server": "https://10.0.0.1:6443"}},
                {"name": "b", "cluster": {"server": "https://[fd00::1]/x"}},
            ],
        })
    }

    #[test]
    fn a_place_is_found_among_the_user_s_contexts() {
        for (place, context, namespace, host) in [
            (None, "lab", "load", "10.0.0.1"),
            (Some("lab"), "lab", "load", "10.0.0.1"),
            (Some("lab/other"), "lab", "other", "10.0.0.1"),
            (Some("/other"), "lab", "other", "10.0.0.1"),
            (Some("arn:aws:eks:x:1:cluster/big"), "arn:aws:eks:x:1:cluster/big", "default", "fd00::1"),
            (Some("arn:aws:eks:x:1:cluster/big/load"), "arn:aws:eks:x:1:cluster/big", "load", "fd00::1"),
        ] {
            let (kubectl, server) = find_context(&config(), place).expect("it is there");
            assert_eq!((kubectl.context.as_str(), kubectl.namespace.as_str()), (context, namespace));
            assert_eq!(server.map(|(found, _)| found).as_deref(), Some(host));
        }
        for (config, place, words) in [
            (config(), Some("lap"), "kubectl knows no context lap; it knows lab, arn:"),
            (json!({"contexts": null, "current-context": ""}), None, "kubectl has no context: log in"),
            (
                json!({"contexts": [{"name": "lab"}, {"name": "shop"}]}),
                None,
                "kubectl has no current context: name one of lab, shop, as k8s:CONTEXT",
            ),
            (json!({"current-context": "x"}), None, "knows no context x, nor any other"),
        ] {
            let why = find_context(&config, place).expect_err("it is not there");
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn the_pods_behind_a_service_are_those_of_its_slices() {
        let pod = |node: &str, uid: &str| json!({"nodeName": node, "targetRef": {"kind": "Pod", "uid": uid}});
        let list = json!({"items": [
            {"endpoints": [pod("b", "2"), pod("a", "3"), {"nodeName": null, "targetRef": {"kind": "Pod", "uid": "4"}}]},
            {"endpoints": [pod("a", "1"), pod("b", "2"), {"addresses": ["10.0.0.7"]}]},
            {"endpoints": null},
        ]});
        let found: Vec<(String, String)> =
            parse_endpoints(&list, "shop").into_iter().map(|pod| (pod.node, pod.uid)).collect();
        let expected = [("a", "1"), ("a", "3"), ("b", "2")];
        assert_eq!(found, expected.map(|(node, uid)| (node.to_owned(), uid.to_owned())));
        assert_eq!(parse_endpoints(&json!({"items": []}), "shop"), []);
    }

    #[test]
    fn a_host_may_be_a_service() {
        for (host, expected) in [
            ("clinic", Some(("load", "clinic"))),
            ("clinic.shop", Some(("shop", "clinic"))),
            ("clinic.shop.svc.cluster.local.", Some(("shop", "clinic"))),
            ("clinic.shop.svc", Some(("shop", "clinic"))),
            ("www.shop.example", None),
            ("10.0.0.4", None),
            ("::1", None),
            ("localhost", None),
            ("", None),
        ] {
            let expected = expected.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()));
            assert_eq!(parse_service_name(host, "load"), expected, "{host}");
        }
    }
}
