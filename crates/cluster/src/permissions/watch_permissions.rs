//! Whether the target's pods may be watched: from their nodes, by privileged pods, or from inside.

use super::{AccessRight, DEADLINE_SECONDS, row, unless_refused, with_bearing};
use crate::error::{EPHEMERAL, Error};
use crate::manifests::PodDuty;
use crate::site::PodSite;
use record::{Area, Prerequisite, Remedy, Severity};

/// The most pods watched.
const PODS_MOST: usize = 8;
const INSIDE_RIGHTS: [AccessRight; 1] =
    [AccessRight::to(&["get", "patch"], EPHEMERAL, "").called("inside pods").or_else(NONE_INSIDE)];
/// What is lost without them, or if a pod refuses.
const NONE_INSIDE: &str = "no watcher goes into the target's pods (--watch-on inside)";

impl PodSite {
    /// Checks both. From inside, the namespace of the target's service counts, if one is named, and what its pods
    /// accept.
    pub(super) fn check_watching(&self) -> Result<Vec<Prerequisite>, Error> {
        let named = self.options.target_service.as_ref();
        let site = named.map_or_else(|| self.clone(), |(namespace, _)| self.in_namespace(namespace));
        let mut rows = vec![self.on_nodes()];
        let rights = site.rights(&INSIDE_RIGHTS)?;
        let may = rights.iter().all(|row| row.bearing == Severity::Fine);
        rows.extend(rights);
        if may {
            rows.push(site.in_pods());
        }
        Ok(rows.into_iter().map(|row| Prerequisite { area: Area::Sight, ..row }).collect())
    }

    fn on_nodes(&self) -> Prerequisite {
        let duty = PodDuty::Watch(vec!["node".to_owned()]);
        let row = row("a watcher's pod", "it is admitted, and sees the processes of its node");
        let asked = self.check_admission(&self.objects("doctor".to_owned(), 1, duty, DEADLINE_SECONDS));
        let elsewhere = "another namespace: --watch-on k8s:CONTEXT/NAMESPACE; whoever administers the cluster makes one: kubectl create namespace \
                         watch && kubectl label namespace watch pod-security.kubernetes.io/enforce=privileged";
        let remedy = Some(Remedy { now: None, for_good: Some(elsewhere.to_owned()) });
        let means = "the target's pods are not watched from here (--watch-on k8s)";
        unless_refused(row, asked, Severity::Less, means, remedy)
    }

    /// Asks whether each of the service's pods would accept a watcher.
    fn in_pods(&self) -> Prerequisite {
        let Some((namespace, name)) = &self.options.target_service else {
            let row = row("a pod's watcher", "which pods it would go into is not said");
            let now = Some("torment doctor --on k8s --target-service NAMESPACE/NAME".to_owned());
            let means = "whether a rule of the cluster forbids it is not known";
            return with_bearing(row, Severity::Unknown, means, Some(Remedy { now, for_good: None }));
        };
        let asked = self.target_pods(name).and_then(|mut pods| {
            pods.truncate(PODS_MOST);
            self.check_admission_inside(&pods).map(|()| pods.len())
        });
        match asked {
            Ok(count) => {
                row("a pod's watcher", format!("it is admitted to each of {count} of {namespace}/{name}"))
            }
            Err(why) => {
                with_bearing(row("a pod's watcher", why.to_string()), Severity::Less, NONE_INSIDE, None)
            }
        }
    }
}
