//! What the cluster reports to allow.

use super::TestCluster;
use serde_json::Value;

#[test]
#[ignore = "wants a cluster: make test-cluster"]
fn doctor_asks_the_cluster_and_tries_it() {
    let cluster = TestCluster::new();
    let asked = cluster.torment(["doctor", "--on", "k8s"]).expect(0);
    println!("{}", asked.stdout);
    assert!(asked.stdout.contains("namespace load of dev") && asked.stdout.contains("not tried"), "{asked}");
    assert!(cluster.pods().is_empty());
    // Who may watch the target's pods, and whose policy forbids it.
    assert!(
        asked.stdout.contains("namespace load forbids the pods") && asked.stdout.contains("hostPID"),
        "{asked}"
    );
    for (service, words) in [
        (
            "shop/clinic",
            [
                "you may not get or patch pods/ephemeralcontainers in namespace shop",
                "create role torment-inside",
            ],
        ),
        (
            "inner/inner",
            ["you may get and patch pods/ephemeralcontainers", "admitted to each of 2 of inner/inner"],
        ),
        ("inner/sealed", ["a rule of the cluster, sealed.lab, forbids it", "nobody looks into a sealed pod"]),
    ] {
        let asked = cluster.torment(["doctor", "--on", "k8s", "--target-service", service]).expect(0);
        // Long lines are wrapped.
        let said = asked.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.iter().all(|words| said.contains(words)), "{service}: {asked}");
    }
    assert!(
        cluster
            .torment(["doctor", "--on", "k8s:dev/watch"])
            .expect(0)
            .stdout
            .contains("sees the processes of its node")
    );
    let guest = cluster.torment(["doctor", "--on", "k8s:guest", "--format", "json"]).expect(92).json();
    let hinders = guest["hinders"].as_array().expect("a list");
    println!("{hinders:?}");
    for name in ["jobs", "secrets", "networkpolicies", "objects"] {
        assert!(hinders.contains(&Value::from(name)), "{name}: {guest}");
    }
    let tried = cluster.torment(["doctor", "--on", "k8s", "--try"]);
    println!("{}", tried.stdout);
    assert!(tried.stdout.contains("2 joined in") && tried.stdout.contains("they agree within"), "{tried}");
    cluster.assert_swept();
}
