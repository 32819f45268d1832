//! Watchers inside the target's own pods: ephemeral containers, each in the process namespace of the container it
//! watches. For namespaces that allow no pod that sees a node's processes. The cluster keeps them in the pod's record
//! for good. Pure.

use crate::manifests::Manifests;
use serde_json::{Value, json};

/// Passes its join file to the watcher: a running pod takes no further volume.
const JOIN_VARIABLE: &str = "TORMENT_JOIN";

/// A pod's strategic merge patch.
pub(crate) fn pod_patch(objects: &Manifests, pod: &Value) -> Value {
    json!({"spec": {"ephemeralContainers": [container(objects, pod)]}})
}

/// The watcher of one pod, within Pod Security, restricted: as the user of the watched container, for nobody else may
/// inspect its processes without a capability. If that user is root nothing is dropped: root without capabilities may
/// not inspect root with them.
fn container(objects: &Manifests, pod: &Value) -> Value {
    let target = target_container(pod);
    let (user, group) =
        (container_id(pod, target, "runAsUser", "uid"), container_id(pod, target, "runAsGroup", "gid"));
    let mut context = json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    context["runAsNonRoot"] = json!(user != Some(0));
    if user != Some(0) {
        context["capabilities"] = json!({"drop": ["ALL"]});
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
        "args": ["watch", "--join", format!("env:{JOIN_VARIABLE}"), "--for", format!("{}s", objects.deadline_seconds)],
        "env": [{"name": JOIN_VARIABLE, "valueFrom": {"secretKeyRef": {"name": objects.name(), "key": "run.join"}}}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": context,
    })
}

/// The target's container: as in kubectl, the pod's default container, else its first.
fn target_container(pod: &Value) -> &Value {
    let default_container = &pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"];
    let containers = pod["spec"]["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let named = containers.iter().find(|container| container["name"] == *default_container);
    named.or(containers.first()).unwrap_or(&Value::Null)
}

/// A container's user or group: as the node reports it, else as specified; `None` if only its image says.
fn container_id(pod: &Value, container: &Value, wanted: &str, runs: &str) -> Option<u64> {
    let all = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let own = all.filter(|status| status["name"] == container["name"]);
    let mut seen = own.filter_map(|status| status["user"]["linux"][runs].as_u64());
    let asked = || {
        let places = [&container["securityContext"], &pod["spec"]["securityContext"]];
        places.into_iter().find_map(|context| context[wanted].as_u64())
    };
    seen.next().or_else(asked)
}

/// The watchers among these pods' containers, each as if it were a pod, so that [`Pods`](crate::pods::Pods) applies.
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
#[path = "ephemeral_containers/tests.rs"]
mod tests;
