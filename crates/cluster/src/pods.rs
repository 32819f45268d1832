//! The state of a run's pods as the cluster reports it: which cannot start, which wait for what, why one ended. Pure.

use crate::error::last_line;
use serde_json::Value;

/// Waiting reasons that a pod does not recover from. (Pulling an image is retried at first.)
const STUCK_REASONS: [&str; 7] = [
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];
/// An index whose pods failed this often before joining will not join.
const FAILURES_MOST: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
struct PodStatus {
    /// A worker, a watcher, or the coordinator.
    role: String,
    /// Its index in the job.
    index: String,
    /// If it fails, another replaces it.
    is_replaced: bool,
    name: String,
    node: Option<String>,
    phase: String,
    /// Why its container waits: reason and message.
    waiting: Option<(String, String)>,
    /// Why it cannot be scheduled.
    unplaced: Option<String>,
    exit: Option<ContainerExit>,
    /// Why the cluster evicts it.
    eviction: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ContainerExit {
    code: i64,
    reason: String,
    message: String,
}

/// All pods of a run, the latest of each index last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pods(Vec<PodStatus>);

fn text(value: &Value, at: &str) -> Option<String> {
    value.pointer(at)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn condition<'a>(pod: &'a Value, kind: &str, status: &str) -> Option<&'a Value> {
    let conditions = pod.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|one| one["type"] == kind && one["status"] == status)
}

impl PodStatus {
    fn parse(pod: &Value) -> Self {
        let state = &pod["status"]["containerStatuses"][0]["state"];
        let waits = text(state, "/waiting/reason")
            .map(|reason| (reason, text(state, "/waiting/message").unwrap_or_default()));
        let ended = state.pointer("/terminated/exitCode").and_then(Value::as_i64).map(|code| ContainerExit {
            code,
            reason: text(state, "/terminated/reason").unwrap_or_default(),
            message: last_line(&text(state, "/terminated/message").unwrap_or_default()),
        });
        let index = "/metadata/annotations/batch.kubernetes.io~1job-completion-index";
        let says = |condition: &Value| text(condition, "/message").or_else(|| text(condition, "/reason"));
        Self {
            // The container's name.
            role: text(pod, "/spec/containers/0/name").unwrap_or_else(|| "worker".to_owned()),
            index: text(pod, index).unwrap_or_default(),
            is_replaced: pod["metadata"]["ownerReferences"].is_array(),
            name: text(pod, "/metadata/name").unwrap_or_default(),
            node: text(pod, "/spec/nodeName"),
            phase: text(pod, "/status/phase").unwrap_or_default(),
            waiting: waits,
            unplaced: condition(pod, "PodScheduled", "False").and_then(says),
            exit: ended,
            eviction: condition(pod, "DisruptionTarget", "True").and_then(says).or_else(|| {
                // Set when a node runs out of something.
                text(pod, "/status/reason").map(|reason| match text(pod, "/status/message") {
                    Some(message) => format!("{reason}: {message}"),
                    None => reason,
                })
            }),
        }
    }

    fn is_coordinator(&self) -> bool {
        self.role == "coordinator"
    }

    fn describe(&self) -> String {
        let who = if self.index.is_empty() {
            format!("the {}", self.role)
        } else {
            format!("{} {}", self.role, self.index)
        };
        self.node.as_ref().map_or(who.clone(), |node| format!("{who} on {node}"))
    }

    /// Whether this is its hostname: the job's name and its index.
    fn has_hostname(&self, host: &str) -> bool {
        !host.is_empty() && self.name.strip_prefix(host).is_some_and(|rest| rest.starts_with('-'))
    }

    /// Why it will never start, if so.
    fn stuck_reason(&self) -> Option<String> {
        let (reason, message) =
            self.waiting.as_ref().filter(|(reason, _)| STUCK_REASONS.contains(&reason.as_str()))?;
        let helps = if reason.contains("Image") {
            "; torment image makes it: load it on each node (ctr -n k8s.io images import), or push it where they find it, and \
             say so: --image"
        } else {
            ""
        };
        Some(format!("{} cannot start: {reason}: {message}{helps}", self.describe()))
    }

    /// How it ended, unless successfully.
    fn failure(&self) -> Option<String> {
        let how = match (&self.eviction, &self.exit) {
            (Some(why), _) => why.clone(),
            (None, Some(ContainerExit { code: 0, .. })) => return None,
            (None, Some(ContainerExit { reason, .. })) if reason == "OOMKilled" => {
                "it had not enough memory (OOMKilled)".to_owned()
            }
            (None, Some(ContainerExit { code: 137, .. })) => "it was killed".to_owned(),
            (None, Some(ContainerExit { code, message, .. })) if message.is_empty() => {
                format!("it ended with exit code {code}")
            }
            (None, Some(ContainerExit { message, .. })) => message.trim_start_matches("torment: ").to_owned(),
            (None, None) if self.phase == "Failed" => "it failed".to_owned(),
            (None, None) => return None,
        };
        Some(how)
    }
}

impl Pods {
    /// Parses a list from the server.
    pub fn parse(list: &Value) -> Self {
        let created = |pod: &Value| text(pod, "/metadata/creationTimestamp");
        let mut pods: Vec<&Value> = list["items"].as_array().into_iter().flatten().collect();
        pods.sort_by_key(|pod| created(pod));
        Self(pods.into_iter().map(PodStatus::parse).collect())
    }

    /// Number of workers, including ended ones.
    pub fn count(&self) -> usize {
        self.0.iter().filter(|pod| !pod.is_coordinator()).count()
    }

    /// How the coordinator ended, if it did.
    pub fn coordinator_ended(&self) -> Option<String> {
        let pod = self.0.iter().rev().find(|pod| pod.is_coordinator())?;
        pod.failure()
            .or_else(|| pod.exit.as_ref().map(|_| "it is over".to_owned()))
            .map(|why| format!("{}: {why}", pod.describe()))
    }

    /// Why the run cannot begin, if that will not change.
    pub fn obstacle(&self) -> Option<String> {
        let stuck = self.0.iter().find_map(PodStatus::stuck_reason);
        stuck.or_else(|| {
            let failed =
                |index: &str| self.0.iter().filter(|pod| pod.index == index && pod.phase == "Failed").count();
            let for_good = |pod: &&PodStatus| {
                let most = if pod.is_replaced { FAILURES_MOST } else { 1 };
                failed(&pod.index) >= most && pod.failure().is_some()
            };
            let pod = self.0.iter().rev().find(for_good)?;
            let again = if pod.is_replaced { ", and again" } else { "" };
            Some(format!("{} ended{again}: {}", pod.describe(), pod.failure()?))
        })
    }

    /// Number that run, or may soon.
    pub fn coming_count(&self) -> usize {
        let may_run =
            |pod: &&PodStatus| pod.phase == "Pending" && pod.node.is_some() && pod.stuck_reason().is_none();
        self.0.iter().filter(|pod| pod.phase == "Running" || may_run(pod)).count()
    }

    /// Whether one is unschedulable, or cannot start.
    pub fn has_unplaced(&self) -> bool {
        self.0.iter().any(|pod| pod.unplaced.is_some() || pod.stuck_reason().is_some())
    }

    /// Which pods the run waits for, and why they do not come.
    pub fn describe_waiting(&self) -> Option<String> {
        let unplaced = |pod: &PodStatus| {
            pod.unplaced.as_ref().map(|why| format!("{} has no node: {why}", pod.describe()))
        };
        let waiting = |pod: &PodStatus| {
            let (reason, message) = pod.waiting.as_ref()?;
            Some(format!("{} waits: {reason} {message}", pod.describe()).trim_end().to_owned())
        };
        // Another may have replaced it.
        let ended = |pod: &PodStatus| pod.failure().map(|why| format!("{} ended: {why}", pod.describe()));
        let latest = || self.0.iter().rev();
        latest()
            .find_map(unplaced)
            .or_else(|| latest().find_map(waiting))
            .or_else(|| latest().find_map(ended))
    }

    /// The node of the pod with this hostname.
    pub fn node(&self, host: &str) -> Option<&str> {
        self.0.iter().rev().find(|pod| pod.has_hostname(host))?.node.as_deref()
    }

    /// Why the pod with this hostname is gone: `None` if unknown.
    pub fn why_gone(&self, host: &str) -> Option<String> {
        self.0.iter().rev().filter(|pod| pod.has_hostname(host)).find_map(PodStatus::failure)
    }
}

/// The job's latest warning: what it could not do.
pub(crate) fn latest_warning(events: &Value) -> Option<String> {
    let when =
        |event: &Value| text(event, "/lastTimestamp").or_else(|| text(event, "/metadata/creationTimestamp"));
    let latest = events["items"]
        .as_array()?
        .iter()
        .filter(|event| event["type"] == "Warning")
        .max_by_key(|event| when(event))?;
    text(latest, "/message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(index: &str, node: Option<&str>, status: Value) -> Value {
        json!({
            "metadata": {
                "name": format!("torment-ab-{index}-x7k2p"),
                "creationTimestamp": "2026-01-02T03:04:05Z",
                "annotations": {"batch.kubernetes.io/job-completion-index": index},
                "ownerReferences": [{"kind": "Job", "name": "torment-ab"}],
            },
            "spec": {"nodeName": node, "containers": [{"name": "worker"}]},
            "status": status,
        })
    }

    fn pods(pods: &[Value]) -> Pods {
        Pods::parse(&json!({ "items": pods }))
    }

    fn state(state: Value, phase: &str) -> Value {
        json!({"phase": phase, "containerStatuses": [{ "state": state }]})
    }

    fn failed(message: &str) -> Value {
        state(json!({"terminated": {"exitCode": 1, "reason": "Error", "message": message}}), "Failed")
    }

    #[test]
    fn who_will_not_start_is_told_at_once() {
        let fine = pod("0", Some("b"), state(json!({"running": {}}), "Running"));
        assert_eq!(pods(std::slice::from_ref(&fine)).obstacle(), None);
        let pulling =
            |reason| state(json!({"waiting": {"reason": reason, "message": "no such image"}}), "Pending");
        let first = pod("1", Some("c"), pulling("ErrImagePull"));
        assert_eq!(pods(&[fine.clone(), first]).obstacle(), None, "it is tried again");
        let stuck = pods(&[fine.clone(), pod("1", Some("c"), pulling("ImagePullBackOff"))])
            .obstacle()
            .expect("one is stuck");
        assert!(
            stuck.starts_with("worker 1 on c cannot start: ImagePullBackOff: no such image; torment image"),
            "{stuck}"
        );
        // The first may have started before its network.
        let once = pod("1", Some("c"), failed("x\ntorment: 10.0.0.9:7 cannot be reached\n"));
        assert_eq!(pods(&[fine.clone(), once.clone()]).obstacle(), None);
        let twice = pods(&[fine, once.clone(), once]).obstacle().expect("it failed twice");
        assert_eq!(twice, "worker 1 on c ended, and again: 10.0.0.9:7 cannot be reached");
    }

    #[test]
    fn what_is_waited_for_is_told_with_the_scheduler_s_words() {
        let status = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available: 2 Insufficient cpu."}
        ]});
        let ended = pod("0", Some("b"), failed("no"));
        let unplaced =
            pods(&[pod("1", None, status), pod("0", Some("b"), state(json!({}), "Pending")), ended]);
        assert_eq!((unplaced.coming_count(), unplaced.has_unplaced()), (1, true));
        assert_eq!(
            unplaced.describe_waiting().as_deref(),
            Some("worker 1 has no node: 0/2 nodes are available: 2 Insufficient cpu.")
        );
        let creating = state(json!({"waiting": {"reason": "ContainerCreating"}}), "Pending");
        assert_eq!(
            pods(&[pod("0", Some("b"), creating)]).describe_waiting().as_deref(),
            Some("worker 0 on b waits: ContainerCreating")
        );
        let running = pods(&[pod("0", Some("b"), state(json!({"running": {}}), "Running"))]);
        assert_eq!((running.describe_waiting(), running.has_unplaced()), (None, false));
        assert_eq!(Pods::default().describe_waiting(), None);
    }

    #[test]
    fn why_one_is_gone_is_asked_of_its_pod() {
        let running = pod("0", Some("b"), state(json!({"running": {}}), "Running"));
        let why =
            |status: Value| pods(&[running.clone(), pod("1", Some("c"), status)]).why_gone("torment-ab-1");
        assert_eq!(pods(std::slice::from_ref(&running)).why_gone("torment-ab-0"), None);
        assert_eq!(pods(std::slice::from_ref(&running)).node("torment-ab-0"), Some("b"));
        // Index 1 is not index 10.
        assert_eq!(pods(&[pod("10", Some("b"), json!({}))]).node("torment-ab-1"), None);
        assert_eq!(pods(std::slice::from_ref(&running)).node(""), None);
        let killed = state(json!({"terminated": {"exitCode": 137, "reason": "Error"}}), "Failed");
        assert_eq!(why(killed).as_deref(), Some("it was killed"));
        let memory = state(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}), "Failed");
        assert_eq!(why(memory).as_deref(), Some("it had not enough memory (OOMKilled)"));
        let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."});
        assert_eq!(why(evicted).as_deref(), Some("Evicted: The node was low on resource: memory."));
        let drained = json!({"phase": "Running", "conditions": [
            {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
        ]});
        assert_eq!(why(drained).as_deref(), Some("Eviction API: evicting"));
        assert_eq!(why(failed("torment: no\n")).as_deref(), Some("no"));
        let well = state(json!({"terminated": {"exitCode": 0, "reason": "Completed"}}), "Succeeded");
        assert_eq!(why(well), None);
    }

    #[test]
    fn the_latest_complaint_is_told() {
        let event = |kind: &str, at: &str, message: &str| json!({"type": kind, "lastTimestamp": at, "message": message});
        let events = json!({"items": [
            event("Warning", "2026-01-01T00:00:02Z", "second"),
            event("Warning", "2026-01-01T00:00:01Z", "first"),
            event("Normal", "2026-01-01T00:00:03Z", "fine"),
        ]});
        assert_eq!(latest_warning(&events).as_deref(), Some("second"));
        assert_eq!(latest_warning(&json!({"items": []})), None);
    }
}
