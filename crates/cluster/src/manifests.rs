//! A run's objects as YAML for kubectl: templates, filled with quoted values so that each stays one value. Pure.

use serde_json::Value;
use std::collections::BTreeMap;
use std::env::consts::ARCH;

const POD: &str = include_str!("manifests/pod.yaml");
const WATCHER: &str = include_str!("manifests/watcher.yaml");
const JOB: &str = include_str!("manifests/job.yaml");
const POLICY: &str = include_str!("manifests/policy.yaml");
const SECRET: &str = include_str!("manifests/secret.yaml");
const COORDINATOR: &str = include_str!("manifests/coordinator.yaml");
const NEAR: &str = include_str!("manifests/near.yaml");
/// Where workers join a coordinator that is a pod.
pub const WORKERS_PORT: u16 = 7070;
/// Where its owner joins.
pub const OWNER_PORT: u16 = 7071;
/// Comment for a job without a coordinator.
const OWNER_COMMENT: &str = "# Each pod has an index. Of one that is lost another takes the place; the trial that a worker is lost in does not count. The rest belongs to this\n\
                    # job: who deletes it deletes all.\n";
const OWNED_COMMENT: &str = "# Each pod has an index. Of one that is lost another takes the place; the trial that it is lost in does not count.\n";
/// Prefix of all names.
const NAME_PREFIX: &str = "torment-";
const SEPARATOR: &str = "---\n";

/// Pods that no worker may share a node with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvoidedPods {
    /// Where they are.
    pub namespace: String,
    /// Labels they have in common.
    pub labels: BTreeMap<String, String>,
}

/// What its pods do.
#[derive(Debug, Clone)]
pub(crate) enum PodDuty {
    /// Make the load, none on a node with these pods.
    Work(Option<AvoidedPods>),
    /// Watch the target, one on each of these nodes.
    Watch(Vec<String>),
}

/// The join files of one run, one per role.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinFiles {
    /// For the coordinator, which admits the others.
    pub coordinator: String,
    /// For workers.
    pub worker: String,
    /// For the owner.
    pub owner: String,
}

/// How a worker's pod differs from the coordinator's.
struct PodRole {
    name: &'static str,
    args: &'static str,
    /// Suffix of its secret's name.
    secret: &'static str,
    resources: &'static str,
    /// Comment on its pods.
    comment: &'static str,
    is_spread: bool,
}

const WORKER_ROLE: PodRole = PodRole {
    name: "worker",
    args: "[worker, --join, /run/torment/run.join]",
    secret: "",
    resources: "cpu: \"{cpus}\", memory: 512Mi",
    comment: "  # Whole processors of its own: a loop keeps the time on each. What is short of them is said, and its trial does not count.\n",
    is_spread: true,
};

/// A worker next to a coordinator, which may start later.
const NEAR_WORKER_ROLE: PodRole =
    PodRole { args: "[worker, --join, /run/torment/run.join, --wait, 1min]", ..WORKER_ROLE };

const COORDINATOR_ROLE: PodRole = PodRole {
    name: "coordinator",
    args: "[coordinate]",
    secret: "-seat",
    resources: "cpu: 500m, memory: 512Mi",
    comment: "",
    is_spread: false,
};

/// What differs from run to run.
#[derive(Debug, Clone)]
pub(crate) struct Manifests {
    /// ID of the run: letters and digits.
    pub id: String,
    pub count: u32,
    /// Processors per worker.
    pub cpus: u32,
    pub duty: PodDuty,
    pub image: String,
    /// The image's only architecture, if known, as nodes name it.
    pub architecture: Option<String>,
    /// Names of the target's pods watched from inside; else empty.
    pub inside_pods: Vec<String>,
    /// Time limit of the job.
    pub deadline_seconds: u64,
}

/// This architecture, as nodes and images name it.
pub(crate) fn architecture() -> &'static str {
    match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// A string that YAML takes for nothing else.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn indented(text: &str, by: usize) -> String {
    let margin = " ".repeat(by);
    text.lines().map(|line| format!("{margin}{line}\n")).collect::<String>().trim_end().to_owned()
}

impl Manifests {
    /// Name of the job and everything else.
    pub fn name(&self) -> String {
        format!("{NAME_PREFIX}{}", self.id)
    }

    /// Label selector for all of them.
    pub fn selector(&self) -> String {
        format!("torment/run={}", self.id)
    }

    fn fill(&self, text: &str) -> String {
        // The ID, where YAML would take mere digits for a number.
        let filled = text.replace("{name}", &self.name()).replace("{id}", &quoted(&self.id));
        filled
            .replace("{count}", &self.count.to_string())
            .replace("{cpus}", &self.cpus.to_string())
            .replace("{deadline}", &self.deadline_seconds.to_string())
            .replace("{workers_port}", &WORKERS_PORT.to_string())
    }

    /// A pod's spec, without its placement.
    fn pod_spec(&self, role: &PodRole) -> String {
        let kind = self.architecture.as_ref().map_or(String::new(), |kind| {
            format!(
                "# For these the image is made.\nnodeSelector: {{kubernetes.io/os: linux, kubernetes.io/arch: {}}}\n",
                quoted(kind)
            )
        });
        let spec = match &self.duty {
            PodDuty::Work(avoided) => {
                let spread = if role.is_spread {
                    format!(
                        "# As many nodes as there are, if the scheduler can.\ntopologySpreadConstraints:\n- maxSkew: 1\n  topologyKey: \
                         kubernetes.io/hostname\n  whenUnsatisfiable: ScheduleAnyway\n  labelSelector: {{matchLabels: {{torment/run: \
                         {}}}}}\n",
                        quoted(&self.id)
                    )
                } else {
                    String::new()
                };
                let resources = format!(
                    "{}  resources:\n    requests: {{{1}}}\n    limits: {{{1}}}\n",
                    role.comment, role.resources
                );
                let rule = avoided.as_ref().map_or(String::new(), AvoidedPods::rule);
                let spec = POD.replace("{secret}", &format!("{{name}}{}", role.secret));
                let spec = self.fill(&spec.replace("{resources}", &resources));
                let spec = spec.replace("{role}", role.name).replace("{args}", role.args);
                spec.replace("{spread}", &spread).replace("{apart}", &rule)
            }
            PodDuty::Watch(nodes) => {
                // By node name: a node need not have it as a label.
                let term = |node: &String| {
                    format!(
                        "      - matchFields: [{{key: metadata.name, operator: In, values: [{}]}}]",
                        quoted(node)
                    )
                };
                let terms: Vec<String> = nodes.iter().map(term).collect();
                self.fill(WATCHER).replace("{nodes}", &terms.join("\n"))
            }
        };
        spec.replace("{image}", &quoted(&self.image)).replace("{kind}", &kind).trim_end().to_owned()
    }

    /// The job that has the pods, and owns the rest.
    pub fn job(&self) -> String {
        let job = JOB.replace("{head}", OWNER_COMMENT).replace("{job}", "{name}").replace("{owner}", "");
        self.fill(&job).replace("{pod}", &indented(&self.pod_spec(&WORKER_ROLE), 6))
    }

    /// The job that has the coordinator, and owns the rest.
    pub fn coordinator(&self) -> String {
        self.fill(COORDINATOR).replace("{pod}", &indented(&self.pod_spec(&COORDINATOR_ROLE), 6))
    }

    /// One of the pods alone, to ask the server whether it would be admitted.
    pub fn pod(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n  labels: {{torment/run: {}}}\nspec:\n{}\n",
            self.name(),
            quoted(&self.id),
            indented(&self.pod_spec(&WORKER_ROLE), 2)
        )
    }

    fn owned_by(&self, owner: &str) -> String {
        format!(
            "  ownerReferences:\n  - {{apiVersion: batch/v1, kind: Job, name: {}, uid: {}}}\n",
            self.name(),
            quoted(owner)
        )
    }

    /// The objects owned by the job with this UID.
    pub fn owned_objects(&self, owner: &str, join_file: &str) -> String {
        let policy = self.fill(POLICY).replace("{owner}", &self.owned_by(owner));
        format!("{}{SEPARATOR}{policy}", self.secret(owner, join_file))
    }

    /// The secret with the join file, owned by the job.
    pub fn secret(&self, owner: &str, join_file: &str) -> String {
        let secret = self.fill(SECRET).replace("{owner}", &self.owned_by(owner));
        secret.replace("{file}", &quoted(join_file))
    }

    /// The same if that job has the coordinator: also what that needs, and the workers.
    pub fn coordinated_objects(&self, owner: &str, join_files: &JoinFiles) -> String {
        let job = JOB.replace("{head}", OWNED_COMMENT).replace("{job}", "{name}-workers");
        let [near, job] = [NEAR, &job].map(|text| self.fill(text).replace("{owner}", &self.owned_by(owner)));
        let near = near.replace("{coordinator}", &quoted(&join_files.coordinator));
        let near = near.replace("{owner_file}", &quoted(&join_files.owner));
        let job = job.replace("{pod}", &indented(&self.pod_spec(&NEAR_WORKER_ROLE), 6));
        format!("{near}{SEPARATOR}{}{SEPARATOR}{job}", self.owned_objects(owner, &join_files.worker))
    }

    /// For people who create them by hand: all but the secret, which is made when the run begins.
    pub fn render_all(&self) -> String {
        let (name, selector) = (self.name(), self.selector());
        let head = format!(
            "# The workers of a run of torment, by hand. On a machine that pods reach, at HOST:\n\
             #   torment find URL --on join:HOST --workers {}      writes run.join, and waits\n\
             #   kubectl create secret generic {name} --from-file=run.join\n\
             #   kubectl apply -f FILE                            this one, within two minutes (--wait)\n\
             # and afterwards:\n\
             #   kubectl delete job,networkpolicy -l {selector}; kubectl delete secret {name}\n",
            self.count
        );
        format!("{head}{SEPARATOR}{}{SEPARATOR}{}", self.job(), self.fill(POLICY).replace("{owner}", ""))
    }
}

impl AvoidedPods {
    fn rule(&self) -> String {
        let labels: Vec<String> =
            self.labels.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value))).collect();
        format!(
            "# Not on the target's nodes: there they would take what it needs (--beside-target lets them).\n\
             affinity:\n  podAntiAffinity:\n    requiredDuringSchedulingIgnoredDuringExecution:\n    \
             - topologyKey: kubernetes.io/hostname\n      namespaces: [{}]\n      labelSelector: {{matchLabels: {{{}}}}}\n",
            quoted(&self.namespace),
            labels.join(", ")
        )
    }
}

#[cfg(test)]
#[path = "manifests/tests.rs"]
mod tests;
