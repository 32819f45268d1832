//! Watchers inside the target's own pods: ephemeral containers, each in the process namespace of the container that it watches. They are for
//! namespaces that allow no pod that sees a node's processes. The cluster never removes one from the record of its pod.

use crate::error::Error;
use crate::objects::{Objects, PodDuty};
use crate::site::{PodSite, TargetPod};
use crate::workforce::{Workforce, new_id};
use serde_json::{Value, json};

/// By which its watcher is told what lets it in: a pod that runs takes no further volume.
const JOINS_BY: &str = "TORMENT_JOIN";

impl PodSite {
    /// Puts a watcher into each of these pods, all of one namespace. `file` is how it finds the run; it ends by itself after so long.
    ///
    /// # Errors
    /// As [`PodSite::raise`].
    pub fn raise_inside(
        &self,
        pods: &[TargetPod],
        file: &str,
        deadline_seconds: u64,
    ) -> Result<Workforce, Error> {
        let namespace = pods.first().map_or("", |pod| pod.namespace.as_str());
        let site = self.in_namespace(namespace);
        // A job of no pods is over at once: it owns what lets in, and an hour later the cluster removes both, if nobody else does.
        let mut objects = site.objects(new_id(), 0, PodDuty::Work(None), deadline_seconds);
        objects.inside = pods.iter().map(|pod| pod.name.clone()).collect();
        let changes = site.changes(&objects)?;
        // What is put into one pod stays there: first it is asked whether all would take it.
        changes.iter().try_for_each(|change| site.change(change, &["--dry-run=server"]))?;
        let workforce = site.make(objects, Objects::job, |objects, owner| objects.secret(owner, file))?;
        changes.iter().try_for_each(|change| site.change(change, &[]))?;
        Ok(workforce)
    }

    /// What each of the pods is to get, by its name.
    fn changes(&self, objects: &Objects) -> Result<Vec<(String, String)>, Error> {
        let mut changes = Vec::new();
        for name in &objects.inside {
            let pod =
                self.kubectl.ask("asking for the target's pod", &["get", "pod", name, "-o", "json"], "")?;
            let container = container(objects, &serde_json::from_str(&pod).unwrap_or_default());
            changes.push((name.clone(), json!({"spec": {"ephemeralContainers": [container]}}).to_string()));
        }
        Ok(changes)
    }

    fn change(&self, (name, change): &(String, String), how: &[&str]) -> Result<(), Error> {
        let mut arguments =
            vec!["patch", "pod", name, "--subresource=ephemeralcontainers", "--type=strategic"];
        arguments.extend(["-p", change, "-o", "name"].iter().chain(how));
        self.kubectl.ask(&format!("putting a watcher into pod {name}"), &arguments, "").map(drop)
    }
}

/// The watcher of one pod, as Pod Security, restricted, wants it: the user of the container that it watches, for nobody else may look at its
/// processes without a capability. Where that user is root nothing is dropped: root without them may not look at root with them.
fn container(objects: &Objects, pod: &Value) -> Value {
    let target = watched(pod);
    let (user, group) = (who(pod, target, "runAsUser", "uid"), who(pod, target, "runAsGroup", "gid"));
    let mut context = json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    if user != Some(0) {
        context["runAsNonRoot"] = json!(true);
        context["capabilities"] = json!({"drop": ["ALL"]});
    } else {
        context["runAsNonRoot"] = json!(false);
    }
    for (key, id) in [("runAsUser", user), ("runAsGroup", group)] {
        if let Some(id) = id {
            context[key] = json!(id);
        }
    }
    json!({
        "name": objects.name(),
        "targetContainerName": target["name"],
        "image": objects.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["watch", "--join", format!("env:{JOINS_BY}"), "--for", format!("{}s", objects.deadline_seconds)],
        "env": [{"name": JOINS_BY, "valueFrom": {"secretKeyRef": {"name": objects.name(), "key": "run.join"}}}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": context,
    })
}

/// The container that is the target: as kubectl takes it, the one that the pod names for that, else its first.
fn watched(pod: &Value) -> &Value {
    let said = &pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"];
    let containers = pod["spec"]["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let named = containers.iter().find(|container| container["name"] == *said);
    named.or(containers.first()).unwrap_or(&Value::Null)
}

/// A user or group of a container: as the node says that it runs, else as it was asked for; none if only its image says.
fn who(pod: &Value, container: &Value, wanted: &str, runs: &str) -> Option<u64> {
    let all = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let own = all.filter(|status| status["name"] == container["name"]);
    let mut seen = own.filter_map(|status| status["user"]["linux"][runs].as_u64());
    let asked = || {
        let places = [&container["securityContext"], &pod["spec"]["securityContext"]];
        places.into_iter().find_map(|context| context[wanted].as_u64())
    };
    seen.next().or_else(asked)
}

/// The watchers among the containers of these pods, as if each were a pod: what is said of those holds of them.
pub(crate) fn as_pods(pods: &Value, name: &str) -> Value {
    let watcher = |pod: &Value| {
        let statuses = pod["status"]["ephemeralContainerStatuses"].as_array();
        let status = statuses.into_iter().flatten().find(|status| status["name"] == name);
        let code = status.and_then(|status| status.pointer("/state/terminated/exitCode")?.as_i64());
        let runs = status.is_some_and(|status| status["state"]["running"].is_object());
        let phase = match code {
            Some(0) => "Succeeded",
            Some(_) => "Failed",
            None if runs => "Running",
            None => "Pending",
        };
        json!({
            "metadata": {
                "name": pod["metadata"]["name"],
                "creationTimestamp": pod["metadata"]["creationTimestamp"],
                "annotations": {"batch.kubernetes.io/job-completion-index": pod["metadata"]["name"]},
            },
            "spec": {"nodeName": pod["spec"]["nodeName"], "containers": [{"name": "watcher"}]},
            "status": {"phase": phase, "containerStatuses": status.into_iter().collect::<Vec<_>>()},
        })
    };
    let list = pods["items"].as_array().map_or(std::slice::from_ref(pods), Vec::as_slice);
    json!({"items": list.iter().map(watcher).collect::<Vec<_>>()})
}

#[cfg(test)]
#[path = "inside/tests.rs"]
mod tests;
