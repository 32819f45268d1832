//! Watching the target's pods: from their nodes, and from inside.

use super::{STARTS, TestCluster};
use crate::program::RunningProcess;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The load comes from here, for both pods: one of them alone has not half of what the other is asked for.
#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn the_pods_behind_a_service_are_watched() {
    let cluster = TestCluster::new();
    let address = cluster.kubectl(&["-n", "shop", "get", "pod", "twin-b", "-o", "jsonpath={.status.podIP}"]);
    let url = format!("http://{address}:8080/fault/cpu?us=400");
    let load = ["run", &url, "-r", "1000", "-d", "6s", "--format", "json"];
    let watched = ["--watch-on", "k8s:dev/watch", "--target-service", "shop/twins", "--reach", "10.99.0.1"];
    let ended = cluster.torment([&load[..], &watched[..]].concat());
    cluster.assert_swept();
    let run = ended.json();
    let others = run["also_watched"].as_array().into_iter().flatten();
    let places: BTreeSet<&str> =
        others.chain([&run["watched"]]).filter_map(|place| place["place"].as_str()).collect();
    assert_eq!(places, BTreeSet::from(["a", "b"]), "{ended}");
    // It has a tenth of a processor, known only to the watcher on its node.
    let cause = run["diagnosis"]["cause"].as_str().expect("one is named");
    assert!(["cpu", "cpu-quota"].contains(&cause), "{cause}: {ended}");
    assert_eq!(run["diagnosis"]["place"], "b", "{ended}");

    let refused = |code: i32, arguments: &[&str], words: &[&str]| {
        println!("{}", cluster.torment([&load[..], arguments].concat()).expect_error(code, words));
        cluster.assert_swept();
    };
    refused(
        1,
        &["--watch-on", "k8s", "--target-service", "shop/twins"],
        &["namespace load forbids the pods", "hostPID"],
    );
    refused(
        2,
        &["--watch-on", "k8s:dev/watch"],
        &["names no service of the cluster", "--target-service NAMESPACE/NAME"],
    );
    // A service's address is as good as its name, for a user who may look everywhere.
    let ip = cluster.kubectl(&["-n", "shop", "get", "service", "nobody", "-o", "jsonpath={.spec.clusterIP}"]);
    let url = format!("http://{ip}:8080/");
    let load = ["run", &url, "-r", "9", "--watch-on", "k8s:admin/watch"];
    println!("{}", cluster.torment(load).expect_error(2, &["service nobody in namespace shop has no pods"]));
    refused(
        2,
        &["--watch-on", "k8s:dev/watch", "--target-service", "shop/none"],
        &["service none in namespace shop has no pods"],
    );
}

/// Names of the watchers in a pod, and their exit codes if they ended.
fn put_into(cluster: &TestCluster, pod: &str) -> Vec<(String, Option<i64>)> {
    let pod = cluster.kubectl(&["-n", "inner", "get", "pod", pod, "-o", "json"]);
    assert!(!pod.contains("PRIVATE KEY"), "{pod}");
    let pod: Value = serde_json::from_str(&pod).expect("it is JSON");
    let all = pod["status"]["ephemeralContainerStatuses"].as_array().into_iter().flatten();
    let ended = |one: &Value| one.pointer("/state/terminated/exitCode").and_then(Value::as_i64);
    all.map(|one| (one["name"].as_str().unwrap_or_default().to_owned(), ended(one))).collect()
}

/// Where no pod may see its node's processes: by ephemeral containers in the target's own.
#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn the_target_s_pods_are_watched_from_inside() {
    let cluster = TestCluster::new();
    let address =
        cluster.kubectl(&["-n", "inner", "get", "pod", "inner-b", "-o", "jsonpath={.status.podIP}"]);
    let url = format!("http://{address}:8080/fault/cpu?us=1000");
    let load = ["run", &url, "-r", "600", "-d", "6s", "--reach", "10.99.0.1", "--format", "json"];
    let inside = |service| ["--watch-on", "inside", "--target-service", service];
    let ended = cluster.torment([&load[..], &inside("inner/inner")].concat());
    cluster.assert_swept();
    let run = ended.json();
    let others = run["also_watched"].as_array().into_iter().flatten();
    let seen: BTreeSet<(&str, &str)> = others
        .chain([&run["watched"]])
        .filter_map(|watched| Some((watched["place"].as_str()?, watched["level"].as_str()?)))
        .collect();
    assert_eq!(seen, BTreeSet::from([("inner-a", "full"), ("inner-b", "full")]), "{ended}");
    // It has three tenths of a processor, as its own control group shows.
    assert_eq!(
        (&run["diagnosis"]["cause"], &run["diagnosis"]["place"]),
        (&"cpu-quota".into(), &"inner-b".into()),
        "{ended}"
    );
    assert!(ended.stderr.contains("stays in its pod's record"), "{ended}");
    // They have exited, and stay in the record for good.
    for pod in ["inner-a", "inner-b"] {
        let put = put_into(&cluster, pod);
        assert!(matches!(put.as_slice(), [(name, Some(0))] if name.starts_with("torment-")), "{put:?}");
    }

    // Nobody tells them to exit: they do by themselves.
    let long = ["run", &url, "-r", "9", "-d", "2m", "--reach", "10.99.0.1"];
    let running = RunningProcess::start(cluster.command([&long[..], &inside("inner/inner")].concat()));
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < STARTS, "{what}: {:?}", put_into(&cluster, "inner-b"));
            sleep(Duration::from_millis(200));
        }
    };
    until("it comes", &|| put_into(&cluster, "inner-b").len() == 2);
    sleep(Duration::from_secs(3));
    running.signal(Signal::KILL);
    running.end();
    until("it goes", &|| put_into(&cluster, "inner-b").iter().all(|(_, code)| code.is_some()));
    cluster.assert_swept();

    let refused = |service: &'static str, words: &[&str]| {
        println!("{}", cluster.torment([&load[..], &inside(service)].concat()).expect_error(1, words));
        cluster.assert_swept();
    };
    let right =
        "kubectl create role torment-inside --verb=get,patch --resource=pods/ephemeralcontainers -n shop";
    refused("shop/twins", &["dev may not get pods/ephemeralcontainers in namespace shop", right]);
    refused(
        "inner/sealed",
        &["a rule of the cluster, sealed.lab, forbids it", "nobody looks into a sealed pod"],
    );
    assert_eq!(put_into(&cluster, "sealed"), []);
}
