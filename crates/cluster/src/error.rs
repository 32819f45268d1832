//! What is wrong with kubectl, the connection to the cluster, a permission or a policy there, and who can change it.

use std::io;
use std::time::Duration;

/// Why there are no pods.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// kubectl is not installed.
    #[error(
        "there is no kubectl on this machine: install it, and log in to the cluster as usual; torment uses yours, with your contexts and your \
         rights"
    )]
    NoKubectl,
    /// kubectl could not be started.
    #[error("kubectl cannot be run: {0}")]
    Start(#[source] io::Error),
    /// kubectl did not end in time.
    #[error("kubectl took longer than {} s for {purpose}{}", .limit.as_secs(), after_colon(.output))]
    TimedOut {
        /// What it was run for.
        purpose: String,
        /// The timeout.
        limit: Duration,
        /// Its output until then.
        output: String,
    },
    /// Explains an error of kubectl or the cluster, with a remedy.
    #[error("{0}")]
    Explained(String),
}

impl Error {
    /// From kubectl's stderr after it failed at `doing`.
    pub(crate) fn from_kubectl(purpose: &str, output: &str, context: &str, namespace: &str) -> Self {
        Self::Explained(explain(purpose, output, context, namespace))
    }
}

/// Output to end a sentence with, if there is any.
fn after_colon(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!(": {output}") }
}

/// Its last line.
pub(crate) fn last_line(output: &str) -> String {
    output.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Whether the user lacks permission to do this.
pub(crate) fn is_forbidden(why: &Error, verb: &str, what: &str) -> bool {
    matches!(why, Error::Explained(words) if words.contains(&format!(" may not {verb} {what} in ")))
}

/// What stands between two texts.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let rest = text.split_once(from)?.1;
    rest.split_once(to).map(|(inside, _)| inside)
}

/// kubectl's messages when nobody answers, and what precedes the reason.
const UNREACHED_MESSAGES: [(&str, &str); 4] = [
    ("Unable to connect to the server", "Unable to connect to the server: "),
    ("The connection to the server", "The connection to the server "),
    ("couldn't get current server API", "couldn't get current server API group list: "),
    ("failed to download openapi", "failed to download openapi: "),
];

/// kubectl's hint, which ours replaces.
const KUBECTL_HINT: &str = " - did you specify the right host or port?";

/// The resource of ephemeral containers, and a name for a role that may add them.
pub(crate) const EPHEMERAL: &str = "pods/ephemeralcontainers";
const INSIDE_ROLE: &str = "torment-inside";

fn explain(purpose: &str, output: &str, context: &str, namespace: &str) -> String {
    let line = last_line(output);
    let line = line.trim_start_matches("error: ").trim_start_matches("Error: ");
    if let Some(why) = line.split_once("is forbidden: User ").map(|(_, who)| who) {
        return explain_missing_right(why, context, namespace);
    }
    if line.contains("(Forbidden)") {
        return explain_refusal(line, namespace);
    }
    if let Some(rule) = between(line, "admission webhook \"", "\" denied the request") {
        let why = line.rsplit_once("denied the request: ").map_or("", |(_, why)| why);
        return format!("a rule of the cluster, {rule}, forbids it: {why}");
    }
    if let Some(rule) = between(line, "ValidatingAdmissionPolicy '", "'") {
        let why = line.rsplit_once("denied request: ").map_or(line, |(_, why)| why);
        return format!("a rule of the cluster, {rule}, forbids it: {why}");
    }
    if line.contains("invalid subresource value") {
        return "this kubectl can put nothing into a pod that runs: from 1.32 on it can".to_owned();
    }
    if line.contains(&format!("namespaces \"{namespace}\" not found")) {
        return format!(
            "there is no namespace {namespace} in {context}: kubectl --context {context} create namespace {namespace}, or name another: \
             --on k8s:CONTEXT/NAMESPACE"
        );
    }
    if line.contains("(Unauthorized)")
        || line.contains("must be logged in")
        || line.contains("provide credentials")
    {
        return format!("{context} does not know you: log in to it as usual ({line})");
    }
    // kubectl first asks the server for its schema.
    let line = line.split("; if you choose to ignore these errors").next().unwrap_or(line);
    for (unreached, behind) in UNREACHED_MESSAGES {
        if line.contains(unreached) {
            let why = line.split_once(behind).map_or(line, |(_, why)| why);
            let why = why.trim_end_matches(KUBECTL_HINT);
            return format!(
                "the cluster of context {context} is not reached: {why}; is it up, and is this machine in its network? kubectl --context \
                 {context} version says the same"
            );
        }
    }
    format!("kubectl, {purpose}: {line}")
}

/// Matches `"dev" cannot create resource "jobs" in API group "batch" in the namespace "load"`.
fn explain_missing_right(why: &str, context: &str, namespace: &str) -> String {
    let user = between(why, "\"", "\"").unwrap_or("you");
    let verb = between(why, "cannot ", " ").unwrap_or("use");
    let what = between(why, "resource \"", "\"").unwrap_or("that");
    let place = between(why, "in the namespace \"", "\"");
    let Some(place) = place else {
        return format!("{user} may not {verb} {what} in context {context}: ask whoever administers it");
    };
    let subject_option = match user.strip_prefix("system:serviceaccount:") {
        Some(account) => format!("--serviceaccount={account}"),
        None => format!("--user={user}"),
    };
    if what == EPHEMERAL {
        return format!(
            "{user} may not {verb} {what} in namespace {place} of context {context}, as neither view nor edit lets anybody: ask whoever \
             administers it ({})",
            grants_inside(&subject_option, place)
        );
    }
    let role = if place == namespace { "edit" } else { "view" };
    format!(
        "{user} may not {verb} {what} in namespace {place} of context {context}: ask whoever administers it for the role {role} there \
         (kubectl create rolebinding torment --clusterrole={role} {subject_option} -n {place}); torment doctor --on k8s says what else is missing"
    )
}

/// How to permit somebody, `--user=NAME`, to add ephemeral containers to a namespace's pods.
pub(crate) fn grants_inside(subject_option: &str, place: &str) -> String {
    format!(
        "kubectl create role {INSIDE_ROLE} --verb=get,patch --resource={EPHEMERAL} -n {place} && kubectl create rolebinding {INSIDE_ROLE} \
         --role={INSIDE_ROLE} {subject_option} -n {place}"
    )
}

/// Forbidden by the server although the user has permission.
fn explain_refusal(line: &str, namespace: &str) -> String {
    if let Some(rule) = line.split_once("violates PodSecurity ").map(|(_, rule)| rule) {
        return format!(
            "namespace {namespace} forbids the pods: {rule} (its label pod-security.kubernetes.io/enforce says so; whoever \
             administers it may change it, or name another namespace)"
        );
    }
    if let Some(quota) = line.split_once("exceeded quota: ").map(|(_, quota)| quota) {
        return format!(
            "the quota of namespace {namespace} has no room: {quota}; ask for fewer (--workers), or whoever administers it for more"
        );
    }
    let why = line.rsplit_once("is forbidden: ").map_or(line, |(_, why)| why);
    format!("the cluster forbids it: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_cluster_says_is_told_with_whom_to_ask() {
        for (output, expected) in [
            (
                "Error from server (Forbidden): error when creating \"STDIN\": jobs.batch is forbidden: User \"dev\" cannot create resource \
                 \"jobs\" in API group \"batch\" in the namespace \"load\"\n",
                vec![
                    "dev may not create jobs in namespace load of context lab",
                    "--clusterrole=edit --user=dev -n load",
                ],
            ),
            (
                "Error from server (Forbidden): services \"clinic\" is forbidden: User \"system:serviceaccount:ci:bot\" cannot get resource \
                 \"services\" in API group \"\" in the namespace \"shop\"",
                vec![
                    "may not get services in namespace shop",
                    "--clusterrole=view --serviceaccount=ci:bot -n shop",
                ],
            ),
            (
                "Error from server (Forbidden): nodes is forbidden: User \"dev\" cannot list resource \"nodes\" in API group \"\" at the \
                 cluster scope",
                vec!["dev may not list nodes in context lab: ask whoever administers it"],
            ),
            (
                "Error from server (Forbidden): error when creating \"STDIN\": pods \"torment-x\" is forbidden: violates PodSecurity \
                 \"restricted:latest\": hostPID",
                vec![
                    "namespace load forbids the pods: \"restricted:latest\": hostPID",
                    "pod-security.kubernetes.io/enforce",
                ],
            ),
            (
                "Error from server (Forbidden): error when creating \"STDIN\": pods \"torment-x\" is forbidden: exceeded quota: few, \
                 requested: pods=1, used: pods=2, limited: pods=2",
                vec!["the quota of namespace load has no room: few, requested: pods=1", "--workers"],
            ),
            (
                "Error from server: error when creating \"STDIN\": admission webhook \"rules.lab\" denied the request: no team is named",
                vec!["a rule of the cluster, rules.lab, forbids it: no team is named"],
            ),
            (
                "Error from server (NotFound): error when creating \"STDIN\": namespaces \"load\" not found",
                vec!["there is no namespace load in lab", "create namespace load"],
            ),
            (
                "error: You must be logged in to the server (Unauthorized)",
                vec!["lab does not know you: log in"],
            ),
            (
                "Unable to connect to the server: dial tcp 10.0.0.1:6443: i/o timeout",
                vec!["the cluster of context lab is not reached: dial tcp", "i/o timeout"],
            ),
            (
                "The connection to the server 127.0.0.1:9 was refused - did you specify the right host or port?",
                vec!["the cluster of context lab is not reached: 127.0.0.1:9 was refused; is it up"],
            ),
            (
                "error: error validating \"STDIN\": error validating data: failed to download openapi: Get \"https://127.0.0.1:9/\": dial tcp \
                 127.0.0.1:9: connect: connection refused; if you choose to ignore these errors, turn validation off with --validate=false",
                vec![
                    "the cluster of context lab is not reached: Get \"https://127.0.0.1:9/\": dial tcp 127.0.0.1:9: connect: connection refused",
                ],
            ),
            (
                "Error from server (Forbidden): pods \"clinic-0\" is forbidden: User \"dev\" cannot get resource \
                 \"pods/ephemeralcontainers\" in API group \"\" in the namespace \"load\"",
                vec![
                    "dev may not get pods/ephemeralcontainers in namespace load of context lab, as neither view nor edit",
                    "--verb=get,patch --resource=pods/ephemeralcontainers -n load",
                    "--role=torment-inside --user=dev -n load",
                ],
            ),
            (
                "The pods \"clinic-0\" is invalid: : ValidatingAdmissionPolicy 'sealed.lab' with binding 'sealed' denied request: nobody \
                 looks in",
                vec!["a rule of the cluster, sealed.lab, forbids it: nobody looks in"],
            ),
            (
                "error: invalid subresource value: \"ephemeralcontainers\". Must be one of [status scale]",
                vec!["from 1.32 on it can"],
            ),
            ("warning: x\nerror: strange\n\n", vec!["kubectl, asking: strange"]),
        ] {
            let explanation = explain("asking", output, "lab", "load");
            for part in expected {
                assert!(explanation.contains(part), "'{part}' is not in: {explanation}");
            }
        }
    }
}
