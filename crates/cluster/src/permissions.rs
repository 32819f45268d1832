//! What the cluster permits: the user's permissions, whether a run's objects are valid, whether a worker would be
//! admitted. The server is asked; nothing is created.

use crate::error::{EPHEMERAL, Error, grants_inside};
use crate::manifests::PodDuty;
use crate::site::PodSite;
use record::{Area, Prerequisite, Remedy, Severity};
use serde_json::{Value, json};
use std::collections::BTreeMap;

mod watch_permissions;

/// First version with a backoff limit per index.
const VERSION_LEAST: (u32, u32) = (1, 29);
/// Two, the default of a run.
const WORKERS: u32 = 2;
const DEADLINE_SECONDS: u64 = 3600;

/// A permission that a run needs, and what for.
struct AccessRight {
    name: &'static str,
    group: &'static str,
    resource_path: &'static str,
    verbs: &'static [&'static str],
    /// What is lost without it; `None`: the run is impossible.
    consequence: Option<&'static str>,
}

impl AccessRight {
    const fn to(verbs: &'static [&'static str], resource_path: &'static str, group: &'static str) -> Self {
        Self { name: resource_path, group, resource_path, verbs, consequence: None }
    }

    const fn called(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// A run is possible without it, but for this.
    const fn or_else(self, consequence: &'static str) -> Self {
        Self { consequence: Some(consequence), ..self }
    }

    fn resource(&self) -> &str {
        self.resource_path.split('/').next().unwrap_or(self.resource_path)
    }

    fn subresource(&self) -> &str {
        self.resource_path.split_once('/').map_or("", |(_, sub)| sub)
    }
}

const RIGHTS: [AccessRight; 8] = [
    AccessRight::to(&["create", "delete"], "jobs", "batch"),
    AccessRight::to(&["create"], "secrets", ""),
    AccessRight::to(&["create"], "networkpolicies", "networking.k8s.io"),
    AccessRight::to(&["patch"], "jobs", "batch")
        .called("growth")
        .or_else("a fleet does not grow (--workers 4..16)"),
    AccessRight::to(&["list"], "pods", "")
        .or_else("why a worker does not start, or was lost, and on which node it is, is not said"),
    AccessRight::to(&["list"], "events", "")
        .or_else("why the cluster makes no pods at all, such as a quota, is not said"),
    AccessRight::to(&["create"], "services", "").or_else("no run can be conducted there (--conduct-there)"),
    AccessRight::to(&["create"], "pods/portforward", "")
        .or_else("a run that is conducted there (--conduct-there) cannot be followed"),
];

fn row(name: &str, found: impl Into<String>) -> Prerequisite {
    Prerequisite {
        name: name.to_owned(),
        area: Area::Rights,
        bearing: Severity::Fine,
        found: found.into(),
        figures: BTreeMap::new(),
        means: None,
        remedy: None,
    }
}

fn with_bearing(
    row: Prerequisite,
    bearing: Severity,
    means: impl Into<String>,
    remedy: Option<Remedy>,
) -> Prerequisite {
    Prerequisite { bearing, means: Some(means.into()), remedy, ..row }
}

/// A row that holds if the cluster does not refuse what was asked; otherwise it says why.
fn unless_refused(
    row: Prerequisite,
    asked: Result<(), Error>,
    bearing: Severity,
    means: &str,
    remedy: Option<Remedy>,
) -> Prerequisite {
    match asked {
        Ok(()) => row,
        Err(why) => with_bearing(Prerequisite { found: why.to_string(), ..row }, bearing, means, remedy),
    }
}

impl PodSite {
    /// Asks what is permitted, without creating anything.
    ///
    /// # Errors
    /// If the cluster does not answer.
    pub fn examine(&self) -> Result<Vec<Prerequisite>, Error> {
        let output = self.kubectl.ask("its version", &["version", "-o", "json"], "")?;
        let output: Value = serde_json::from_str(&output).unwrap_or_default();
        let version = output["serverVersion"]["gitVersion"].as_str().unwrap_or_default();
        let client = output["clientVersion"]["gitVersion"].as_str().unwrap_or("?");
        let mut rows = vec![row("kubectl", client), check_version(version)];
        rows.extend(self.rights(&RIGHTS)?);
        rows.push(self.check_objects());
        rows.push(self.check_worker_admission());
        rows.extend(self.check_watching()?);
        Ok(rows)
    }

    fn rights(&self, rights: &[AccessRight]) -> Result<Vec<Prerequisite>, Error> {
        let requested: Vec<(&AccessRight, &str)> =
            rights.iter().flat_map(|right| right.verbs.iter().map(move |verb| (right, *verb))).collect();
        let place = &self.kubectl.namespace;
        let review = |(right, verb): &(&AccessRight, &str)| {
            json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {
                    "namespace": place, "verb": verb, "group": right.group, "resource": right.resource(),
                    "subresource": right.subresource(),
                }},
            })
            .to_string()
        };
        let reviews: Vec<String> = requested.iter().map(review).collect();
        // Validation would make kubectl ask for what only administrators may see.
        let arguments = ["create", "--validate=false", "-f", "-", "-o", "json"];
        let output = self.kubectl.ask("asking what you may do", &arguments, &reviews.join("\n"))?;
        // One after the other, in the order asked.
        let mut answers = serde_json::Deserializer::from_str(&output).into_iter::<Value>().flatten();
        let answers: Vec<Value> = match answers.next() {
            Some(list) if list["kind"] == "List" => list["items"].as_array().cloned().unwrap_or_default(),
            first => first.into_iter().chain(answers).collect(),
        };
        let allowed = |requested: &&(&AccessRight, &str)| {
            let attributes = |answer: &&Value| {
                let has = &answer["spec"]["resourceAttributes"];
                has["resource"] == requested.0.resource()
                    && has["verb"] == requested.1
                    && has["subresource"].as_str().unwrap_or_default() == requested.0.subresource()
            };
            answers.iter().find(attributes).is_some_and(|answer| answer["status"]["allowed"] == true)
        };
        Ok(rights.iter().map(|right| self.judge_right(right, &requested, &allowed)).collect())
    }

    fn judge_right(
        &self,
        right: &AccessRight,
        requested: &[(&AccessRight, &str)],
        allowed: &dyn Fn(&&(&AccessRight, &str)) -> bool,
    ) -> Prerequisite {
        let missing: Vec<&str> = requested
            .iter()
            .filter(|requested| requested.0.name == right.name && !allowed(requested))
            .map(|(_, verb)| *verb)
            .collect();
        if missing.is_empty() {
            return row(right.name, format!("you may {} {}", right.verbs.join(" and "), right.resource_path));
        }
        let found = row(
            right.name,
            format!(
                "you may not {} {} in namespace {}",
                missing.join(" or "),
                right.resource_path,
                self.kubectl.namespace
            ),
        );
        let namespace = &self.kubectl.namespace;
        let role = match right.resource_path {
            EPHEMERAL => grants_inside("--user=YOU", namespace),
            _ => format!("kubectl create rolebinding torment --clusterrole=edit --user=YOU -n {namespace}"),
        };
        let for_good = Some(format!("whoever administers it: {role}"));
        let remedy = Some(Remedy { now: None, for_good });
        match right.consequence {
            None => with_bearing(found, Severity::Hinders, "no run can be made there", remedy),
            Some(less) => with_bearing(found, Severity::Less, less, remedy),
        }
    }

    /// Whether the server accepts the objects, every field of them.
    fn check_objects(&self) -> Prerequisite {
        let manifests = self.objects("doctor".to_owned(), WORKERS, PodDuty::Work(None), DEADLINE_SECONDS);
        let all = format!(
            "{}---\n{}",
            manifests.job(),
            manifests.owned_objects("00000000-0000-0000-0000-000000000000", "")
        );
        let arguments = ["create", "--dry-run=server", "--validate=strict", "-f", "-", "-o", "name"];
        let row = row("objects", "a job, a secret and a network policy are accepted as they are");
        let asked = self.kubectl.ask("asking whether the objects are accepted", &arguments, &all).map(drop);
        unless_refused(row, asked, Severity::Hinders, "no run can be made there", None)
    }

    fn check_worker_admission(&self) -> Prerequisite {
        let manifests = self.objects("doctor".to_owned(), WORKERS, PodDuty::Work(None), DEADLINE_SECONDS);
        let row = row("a worker's pod", "it is admitted: Pod Security, quota, rules of the cluster");
        let asked = self.check_admission(&manifests);
        unless_refused(row, asked, Severity::Hinders, "no worker would start", None)
    }
}

fn check_version(version: &str) -> Prerequisite {
    let found = row("Kubernetes", version);
    match parse_version(version) {
        None => Prerequisite {
            bearing: Severity::Unknown,
            found: "it does not say its version".to_owned(),
            ..found
        },
        Some(number) if number >= VERSION_LEAST => found,
        Some(_) => {
            let remedy = Remedy {
                now: None,
                for_good: Some("a newer cluster; or torment worker --join by other means".to_owned()),
            };
            with_bearing(
                found,
                Severity::Hinders,
                "jobs that replace a lost worker are there from 1.29 on",
                Some(remedy),
            )
        }
    }
}

/// Parses `v1.34.4+k3s1`.
fn parse_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_cluster_hinders() {
        for (version, bearing) in [
            ("v1.34.4", Severity::Fine),
            ("v1.29.0+k3s1", Severity::Fine),
            ("v1.28.15-eks-1", Severity::Hinders),
            ("v2.0.0", Severity::Fine),
            ("", Severity::Unknown),
        ] {
            assert_eq!(check_version(version).bearing, bearing, "{version}");
        }
    }
}
