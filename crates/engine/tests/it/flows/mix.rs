//! Several requests and flows in one load.

use super::{counts, job, offer};
use crate::flows::server::{Reply, Server};
use std::collections::BTreeMap;

/// Shares of a mix are binomial: five standard deviations are exceeded once in two million.
#[test]
fn a_mix_hits_its_shares_and_a_seed_repeats_it() {
    let server = Server::start(|_| Reply::ok(&[], ""));
    let plan = r#"
        [[request]]
        url = "/read"
        weight = 6
        [[request]]
        url = "/write"
        method = "POST"
        weight = 1.5
        [[flow]]
        weight = 2.5
        [[flow.step]]
        url = "/first"
        [[flow.step]]
        url = "/second"
    "#;
    let job = job(server.address.port(), plan);
    let total = offer(&job, 800);
    assert_eq!(total.outcomes.ok, 800, "{:?}", total.failures);
    let sent: Vec<u64> = total.parts.iter().map(|part| part.sent).collect();
    for (sent, share) in sent.iter().zip([0.6_f64, 0.15, 0.25, 0.25]) {
        let (mean, deviation) = (800.0 * share, (800.0 * share * (1.0 - share)).sqrt());
        assert!((*sent as f64 - mean).abs() < 5.0 * deviation, "{sent} instead of {mean} ± {deviation}");
    }
    assert_eq!(sent[..3].iter().sum::<u64>(), 800);
    assert_eq!(sent[2], sent[3]);
    let mut by_path = BTreeMap::new();
    server.requests().into_iter().for_each(|request| *by_path.entry(request.path).or_insert(0) += 1);
    let paths = ["/read", "/write", "/first", "/second"];
    assert_eq!(paths.map(|path| by_path[path]).as_slice(), sent);
    assert_eq!(counts(&offer(&job, 800)), counts(&total), "the same seed, the same mix");
    let mut other = job;
    other.generator.cores = vec![0, 0];
    assert_eq!(counts(&offer(&other, 800)), counts(&total), "several loops, the same mix");
    other.generator.seed += 1;
    assert_ne!(counts(&offer(&other, 800)), counts(&total), "another seed, another mix");
}
