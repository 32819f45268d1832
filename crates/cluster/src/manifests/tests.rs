use super::*;
use serde_json::json;

fn objects() -> Manifests {
    let labels =
        BTreeMap::from([("app".to_owned(), "clinic".to_owned()), ("tier".to_owned(), "no".to_owned())]);
    Manifests {
        id: "12345678".to_owned(),
        count: 4,
        cpus: 2,
        image: "registry.lab/torment:0.1.0".to_owned(),
        architecture: Some("amd64".to_owned()),
        inside_pods: Vec::new(),
        duty: PodDuty::Work(Some(AvoidedPods { namespace: "shop".to_owned(), labels })),
        deadline_seconds: 7200,
    }
}

fn read(text: &str) -> Vec<Value> {
    text.split(SEPARATOR)
        .filter(|text| text.lines().any(|line| !line.is_empty() && !line.starts_with('#')))
        .map(|text| serde_saphyr::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}")))
        .collect()
}

fn job() -> Value {
    read(&objects().job()).remove(0)
}

const FILE: &str = "# Lets one\nat b:7\n-----BEGIN: \"x\"\n";

/// Pod Security, restricted (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>): which keys a pod
/// may have, and their values.
#[test]
fn a_worker_is_as_restricted_wants_it() {
    let spec = &job()["spec"]["template"]["spec"];
    for key in ["hostNetwork", "hostPID", "hostIPC", "hostUsers", "initContainers", "ephemeralContainers"] {
        assert_eq!(spec.get(key), None, "{key}");
    }
    let context = &spec["securityContext"];
    assert_eq!(
        (&context["runAsNonRoot"], &context["seccompProfile"]["type"]),
        (&json!(true), &json!("RuntimeDefault"))
    );
    assert_eq!(context.get("sysctls"), None);
    for volume in spec["volumes"].as_array().expect("a list") {
        let kinds: Vec<&String> =
            volume.as_object().expect("an object").keys().filter(|key| *key != "name").collect();
        assert!(
            kinds
                .iter()
                .all(|kind| ["secret", "configMap", "emptyDir", "projected"].contains(&kind.as_str())),
            "{kinds:?}"
        );
    }
    let containers = spec["containers"].as_array().expect("a list");
    assert_eq!(containers.len(), 1);
    for container in containers {
        let context = &container["securityContext"];
        assert_eq!(context["allowPrivilegeEscalation"], json!(false));
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
        assert_eq!(
            (&context["runAsNonRoot"], &context["readOnlyRootFilesystem"]),
            (&json!(true), &json!(true))
        );
        for key in ["privileged", "procMount", "seLinuxOptions", "runAsUser"] {
            assert_eq!(context.get(key), None, "{key}");
        }
        for port in container["ports"].as_array().into_iter().flatten() {
            assert_eq!(port.get("hostPort"), None);
        }
    }
    assert_eq!(spec["automountServiceAccountToken"], json!(false));
    // The pod that the server is asked about is the same.
    assert_eq!(read(&objects().pod())[0]["spec"], *spec);
}

#[test]
fn the_job_ends_whatever_happens_and_owns_the_rest() {
    let job = job();
    let spec = &job["spec"];
    assert_eq!(
        (&job["metadata"]["name"], &spec["completionMode"]),
        (&json!("torment-12345678"), &json!("Indexed"))
    );
    assert_eq!((&spec["completions"], &spec["parallelism"]), (&json!(4), &json!(4)));
    assert_eq!(
        (&spec["activeDeadlineSeconds"], &spec["ttlSecondsAfterFinished"]),
        (&json!(7200), &json!(3600))
    );
    assert_eq!((&spec["backoffLimitPerIndex"], spec.get("maxFailedIndexes")), (&json!(3), None));
    assert_eq!(spec["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["type"], json!("DisruptionTarget"));
    // A pod failure policy requires this, and limits equal to requests give it processors of its own.
    assert_eq!(spec["template"]["spec"]["restartPolicy"], json!("Never"));
    let resources = &spec["template"]["spec"]["containers"][0]["resources"];
    assert_eq!(resources["requests"], resources["limits"]);
    assert_eq!(resources["limits"]["cpu"], json!("2"));
    let owned = read(&objects().owned_objects("u-1", FILE));
    assert_eq!(owned.len(), 2);
    for object in &owned {
        let owner =
            json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "torment-12345678", "uid": "u-1"}]);
        assert_eq!(object["metadata"]["ownerReferences"], owner);
    }
    for object in owned.iter().chain([&job]) {
        // A string, although it looks like a number.
        assert_eq!(object["metadata"]["labels"]["torment/run"], json!("12345678"), "{object}");
        assert_eq!(object["metadata"]["name"], json!("torment-12345678"));
    }
    assert_eq!(owned[0]["stringData"]["run.join"], json!(FILE));
    let selector = json!({"matchLabels": {"torment/run": "12345678"}});
    assert_eq!(
        (&owned[1]["spec"]["podSelector"], &owned[1]["spec"]["policyTypes"]),
        (&selector, &json!(["Ingress"]))
    );
    assert_eq!(owned[1]["spec"].get("ingress"), None, "somebody is let in");
}

#[test]
fn a_coordinator_owns_all_and_only_its_workers_come_in() {
    let join_files =
        JoinFiles { coordinator: "seat".to_owned(), worker: "worker".to_owned(), owner: "owner".to_owned() };
    let first = read(&objects().coordinator()).remove(0);
    let (spec, pod) = (&first["spec"], &first["spec"]["template"]["spec"]);
    assert_eq!((&first["metadata"]["name"], &spec["backoffLimit"]), (&json!("torment-12345678"), &json!(0)));
    assert_eq!(
        (&spec["activeDeadlineSeconds"], &spec["ttlSecondsAfterFinished"]),
        (&json!(7200), &json!(3600))
    );
    assert_eq!(pod["volumes"][0]["secret"]["secretName"], "torment-12345678-seat");
    assert_eq!(
        (&pod["containers"][0]["args"], pod.get("topologySpreadConstraints")),
        (&json!(["coordinate"]), None)
    );
    // It is as restricted as a worker, and avoids the target likewise.
    let worker = &job()["spec"]["template"]["spec"];
    for key in ["securityContext", "affinity", "automountServiceAccountToken"] {
        assert_eq!(pod[key], worker[key]);
    }
    assert_eq!(pod["containers"][0]["securityContext"], worker["containers"][0]["securityContext"]);
    let rest = read(&objects().coordinated_objects("u-1", &join_files));
    let kinds: Vec<&Value> = rest.iter().map(|object| &object["kind"]).collect();
    assert_eq!(kinds, ["Secret", "Service", "NetworkPolicy", "Secret", "NetworkPolicy", "Job"]);
    for object in &rest {
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "u-1", "{object}");
    }
    assert_eq!(rest[0]["stringData"], json!({"seat": "seat", "owner.join": "owner"}));
    assert_eq!(rest[3]["stringData"], json!({"run.join": "worker"}));
    let ingress = &rest[2]["spec"]["ingress"];
    let own = json!({"matchLabels": {"torment/run": "12345678"}});
    assert_eq!(
        (&ingress[0]["from"][0]["podSelector"], &ingress[0]["ports"][0]["port"]),
        (&own, &json!(WORKERS_PORT))
    );
    assert_eq!(
        (&rest[1]["spec"]["clusterIP"], &rest[1]["spec"]["selector"]["torment/role"]),
        (&json!("None"), &json!("coordinator"))
    );
    assert_eq!(rest[5]["metadata"]["name"], "torment-12345678-workers");
}

#[test]
fn workers_keep_away_from_the_target_and_find_machines_of_their_kind() {
    let rule = &job()["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        [0];
    assert_eq!(rule["namespaces"], json!(["shop"]));
    // "no" would be false if it were not quoted.
    assert_eq!(rule["labelSelector"]["matchLabels"], json!({"app": "clinic", "tier": "no"}));
    assert_eq!(job()["spec"]["template"]["spec"]["nodeSelector"]["kubernetes.io/arch"], json!("amd64"));
    let without = Manifests { duty: PodDuty::Work(None), architecture: None, ..objects() };
    let spec = &read(&without.job())[0]["spec"]["template"]["spec"];
    assert_eq!((spec.get("affinity"), spec.get("nodeSelector")), (None, None));
}

#[test]
fn a_watcher_is_on_each_of_the_target_s_nodes_and_sees_their_processes() {
    let nodes = ["a", "ip-10-0-0-7.lab"].map(str::to_owned).to_vec();
    let watchers = Manifests { count: 2, duty: PodDuty::Watch(nodes), ..objects() };
    let job = read(&watchers.job()).remove(0);
    let spec = &job["spec"]["template"]["spec"];
    let placed = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let terms = placed["nodeSelectorTerms"].as_array().expect("a list");
    // Any of these nodes, but no two on the same.
    let names: Vec<&Value> = terms.iter().map(|term| &term["matchFields"][0]["values"][0]).collect();
    assert_eq!(names, ["a", "ip-10-0-0-7.lab"]);
    let apart = &spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(apart["labelSelector"]["matchLabels"], json!({"torment/run": "12345678"}));
    assert_eq!((&job["spec"]["completions"], &spec["hostPID"]), (&json!(2), &json!(true)));
    assert_eq!(spec["tolerations"], json!([{"operator": "Exists"}]));
    let container = &spec["containers"][0];
    assert_eq!(
        (&container["name"], &container["securityContext"]["runAsUser"]),
        (&json!("watcher"), &json!(0))
    );
    let mounts = container["volumeMounts"].as_array().expect("a list");
    assert!(mounts.iter().all(|mount| mount["readOnly"] == json!(true)), "{mounts:?}");
    assert!(!watchers.job().contains("{nodes}") && !watchers.pod().contains("{image}"));
}

#[test]
fn no_gap_is_left_open_and_only_the_secret_has_the_file() {
    let manifests = objects();
    let all = [manifests.job(), manifests.pod(), manifests.owned_objects("u", FILE), manifests.render_all()];
    for text in &all {
        for gap in [
            "{name}",
            "{id}",
            "{count}",
            "{cpus}",
            "{deadline}",
            "{pod}",
            "{apart}",
            "{kind}",
            "{image}",
            "{owner}",
            "{file}",
            "{role}",
            "{args}",
            "{resources}",
            "{spread}",
            "{secret}",
            "{job}",
            "{head}",
        ] {
            assert!(!text.contains(gap), "{gap} in {text}");
        }
    }
    let printed = read(&manifests.render_all());
    let kinds: Vec<&Value> = printed.iter().map(|object| &object["kind"]).collect();
    assert_eq!(kinds, ["Job", "NetworkPolicy"]);
    assert!(
        manifests
            .render_all()
            .contains("kubectl create secret generic torment-12345678 --from-file=run.join")
    );
}
