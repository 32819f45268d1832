use super::*;
use crate::manifests::PodDuty;
use crate::pods::Pods;

fn objects() -> Manifests {
    Manifests {
        id: "0a1b2c3d".to_owned(),
        count: 0,
        cpus: 1,
        duty: PodDuty::Work(None),
        image: "registry.lab/torment:0.1.0".to_owned(),
        architecture: None,
        inside_pods: vec!["clinic-0".to_owned()],
        deadline_seconds: 7200,
    }
}

fn pod(extra: Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": "clinic-0", "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {"nodeName": "a", "containers": [{"name": "proxy"}, {"name": "clinic"}]},
        "status": {},
    });
    for (key, value) in extra.as_object().into_iter().flatten() {
        *pod.pointer_mut(key).unwrap_or_else(|| panic!("no {key}")) = value.clone();
    }
    pod
}

/// Pod Security, restricted, treats it like any container
/// (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>).
#[test]
fn it_is_as_restricted_wants_it_and_takes_no_more_than_a_pod_that_runs_gives() {
    let container = container(&objects(), &pod(json!({})));
    assert_eq!(
        container["securityContext"],
        json!({
            "runAsNonRoot": true, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        })
    );
    assert_eq!(
        (&container["name"], &container["targetContainerName"]),
        (&json!("torment-0a1b2c3d"), &json!("proxy"))
    );
    assert_eq!(container["args"], json!(["watch", "--join", "env:TORMENT_JOIN", "--for", "7200s"]));
    // The join file is only in a Secret, which is removed with the run; the container's record is not.
    assert_eq!(
        container["env"],
        json!([{"name": "TORMENT_JOIN", "valueFrom": {"secretKeyRef": {"name": "torment-0a1b2c3d", "key": "run.join"}}}])
    );
    // Fields that an ephemeral container may not have: resources, ports, probes, new volumes.
    for key in [
        "resources",
        "ports",
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
        "volumeMounts",
        "restartPolicy",
    ] {
        assert_eq!(container.get(key), None, "{key}");
    }
}

#[test]
fn it_is_the_user_that_the_target_is() {
    let ids = |extra: Value| {
        let context = container(&objects(), &pod(extra))["securityContext"].clone();
        (context["runAsUser"].as_u64(), context["runAsGroup"].as_u64(), context["capabilities"].clone())
    };
    let none = json!({"drop": ["ALL"]});
    // Only its image names a user: torment's image decides then.
    assert_eq!(ids(json!({})), (None, None, none.clone()));
    let asked = json!([{"name": "clinic", "securityContext": {"runAsUser": 1000}}]);
    let spec = json!({"containers": asked, "securityContext": {"runAsUser": 5, "runAsGroup": 6}});
    assert_eq!(ids(json!({"/spec": spec})), (Some(1000), Some(6), none.clone()));
    let runs = json!({"containerStatuses": [
        {"name": "clinic", "user": {"linux": {"uid": 9, "gid": 9}}},
        {"name": "proxy", "user": {"linux": {"uid": 101, "gid": 102, "supplementalGroups": [7]}}},
    ]});
    assert_eq!(ids(json!({"/status": runs.clone()})), (Some(101), Some(102), none.clone()));
    let metadata =
        json!({"name": "clinic-0", "annotations": {"kubectl.kubernetes.io/default-container": "clinic"}});
    let named = ids(json!({"/status": runs, "/metadata": metadata}));
    assert_eq!(named, (Some(9), Some(9), none));
    // Root may inspect root only with the same capabilities.
    let root = json!({"containerStatuses": [{"name": "proxy", "user": {"linux": {"uid": 0, "gid": 0}}}]});
    assert_eq!(ids(json!({"/status": root})), (Some(0), Some(0), Value::Null));
}

#[test]
fn what_becomes_of_it_is_seen_in_its_pod() {
    let seen = |state: Option<Value>| {
        let other = json!({"name": "torment-old", "state": {"terminated": {"exitCode": 1}}});
        let own = state.map(|state| json!({"name": "torment-0a1b2c3d", "state": state}));
        let all: Vec<Value> = std::iter::once(other).chain(own).collect();
        let pod = pod(json!({"/status": {"phase": "Running", "ephemeralContainerStatuses": all}}));
        // kubectl gives one pod as it is, several as a list.
        let alone = Pods::parse(&as_pods(&pod, "torment-0a1b2c3d"));
        assert_eq!(
            Pods::parse(&as_pods(&json!({"items": [pod]}), "torment-0a1b2c3d")).obstacle(),
            alone.obstacle()
        );
        (alone.obstacle(), alone.describe_waiting())
    };
    assert_eq!(seen(None), (None, None));
    assert_eq!(seen(Some(json!({"running": {}}))), (None, None));
    let (stuck, _) =
        seen(Some(json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}})));
    let stuck = stuck.expect("it is");
    assert!(
        stuck.starts_with("watcher clinic-0 on a cannot start: ImagePullBackOff: no such image"),
        "{stuck}"
    );
    // It is not restarted.
    let (failed, _) = seen(Some(
        json!({"terminated": {"exitCode": 1, "message": "torment: 10.0.0.9:7 cannot be reached"}}),
    ));
    assert_eq!(failed.as_deref(), Some("watcher clinic-0 on a ended: 10.0.0.9:7 cannot be reached"));
}
