//! The pods of one run, from creation to removal.

use crate::cleanup::{CleanupProcess, remove};
use crate::ephemeral_containers::{as_pods, pod_patch};
use crate::error::{Error, is_forbidden};
use crate::manifests::{JoinFiles, Manifests, OWNER_PORT, PodDuty};
use crate::pods::{Pods, latest_warning};
use crate::port_forward::PortForward;
use crate::site::{PodSite, TargetPod};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Interval between looks at pods: each is a process that reads a configuration, signs in and asks.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);
/// Longest wait to learn why a worker was lost.
const QUERY_LIMIT: Duration = Duration::from_secs(5);

/// A run's objects in a cluster, removed on drop, and also when this process dies.
#[derive(Debug)]
pub struct RunPods {
    site: PodSite,
    manifests: Manifests,
    /// `None` if this process is not to end the run.
    cleanup: Option<CleanupProcess>,
    snapshot: Arc<PodSnapshot>,
    refreshed_at: Option<Instant>,
}

/// The state last seen.
#[derive(Debug, Default)]
struct PodSnapshot {
    is_refreshing: AtomicBool,
    state: Mutex<(Pods, Option<String>)>,
}

impl PodSite {
    /// Creates that many workers, who join with `join_file`. `host` is the target's; no worker shares a node with it.
    ///
    /// # Errors
    /// If the cluster does not answer, the user lacks permission, or a policy forbids it; says what helps. Nothing is
    /// left behind.
    pub fn start_workers(
        &self,
        workers: u32,
        file: &str,
        host: &str,
        deadline_seconds: u64,
    ) -> Result<RunPods, Error> {
        self.start_job(workers, PodDuty::Work(self.avoided_pods(host)?), file, deadline_seconds)
    }

    /// The same for watchers, one on each of these nodes.
    ///
    /// # Errors
    /// As for [`PodSite::start_workers`].
    pub fn start_watchers(
        &self,
        nodes: &[String],
        file: &str,
        deadline_seconds: u64,
    ) -> Result<RunPods, Error> {
        self.start_job(nodes.len() as u32, PodDuty::Watch(nodes.to_vec()), file, deadline_seconds)
    }

    /// Adds a watcher to each of these pods, all of one namespace. It joins with `file`, and ends by itself after the
    /// deadline.
    ///
    /// # Errors
    /// As for [`PodSite::start_workers`].
    pub fn start_watchers_inside(
        &self,
        pods: &[TargetPod],
        file: &str,
        deadline_seconds: u64,
    ) -> Result<RunPods, Error> {
        let (site, manifests) = self.inside(pods, new_id(), deadline_seconds);
        let changes = site.pod_patches(&manifests)?;
        // An ephemeral container cannot be removed: first ask whether all pods would accept it.
        site.apply_patches(&changes, &["--dry-run=server"])?;
        let run_pods =
            site.create(manifests, Manifests::job, |manifests, owner| manifests.secret(owner, file))?;
        site.apply_patches(&changes, &[])?;
        Ok(run_pods)
    }

    /// Asks the server whether each of these pods, all of one namespace, would accept a watcher.
    pub(crate) fn check_admission_inside(&self, pods: &[TargetPod]) -> Result<(), Error> {
        let (site, manifests) = self.inside(pods, "doctor".to_owned(), 0);
        site.apply_patches(&site.pod_patches(&manifests)?, &["--dry-run=server"])
    }

    /// A job without pods is over at once: it owns the join file, and the cluster removes both an hour later if nobody
    /// else does.
    fn inside(&self, pods: &[TargetPod], id: String, deadline_seconds: u64) -> (Self, Manifests) {
        let site = self.in_namespace(pods.first().map_or("", |pod| pod.namespace.as_str()));
        let mut manifests = site.objects(id, 0, PodDuty::Work(None), deadline_seconds);
        manifests.inside_pods = pods.iter().map(|pod| pod.name.clone()).collect();
        (site, manifests)
    }

    /// Each pod's name and patch.
    fn pod_patches(&self, manifests: &Manifests) -> Result<Vec<(String, String)>, Error> {
        let of_pod = |name: &String| {
            let arguments = ["get", "pod", name, "-o", "json"];
            let pod = self.kubectl.ask("asking for the target's pod", &arguments, "")?;
            let change = pod_patch(manifests, &serde_json::from_str(&pod).unwrap_or_default());
            Ok((name.clone(), change.to_string()))
        };
        manifests.inside_pods.iter().map(of_pod).collect()
    }

    fn apply_patches(&self, changes: &[(String, String)], how: &[&str]) -> Result<(), Error> {
        changes.iter().try_for_each(|(name, change)| {
            let what = ["patch", "pod", name, "--subresource=ephemeralcontainers", "--type=strategic"];
            let arguments = [&what[..], &["-p", change, "-o", "name"], how].concat();
            self.kubectl.ask(&format!("putting a watcher into pod {name}"), &arguments, "").map(drop)
        })
    }

    fn start_job(
        &self,
        count: u32,
        duty: PodDuty,
        file: &str,
        deadline_seconds: u64,
    ) -> Result<RunPods, Error> {
        let manifests = self.objects(new_id(), count, duty, deadline_seconds);
        self.check_admission(&manifests)?;
        self.create(manifests, Manifests::job, |manifests, owner| manifests.owned_objects(owner, file))
    }

    /// First the owner, then what it owns. From then on any failure cleans up.
    fn create(
        &self,
        manifests: Manifests,
        first: impl Fn(&Manifests) -> String,
        rest: impl Fn(&Manifests, &str) -> String,
    ) -> Result<RunPods, Error> {
        let kubectl = &self.kubectl;
        let cleanup = CleanupProcess::start(kubectl, &manifests.name())?;
        let mut run_pods = self.run_pods(manifests, Some(cleanup));
        let manifests = &run_pods.manifests;
        let made = kubectl.ask("making the pods", &["create", "-f", "-", "-o", "json"], &first(manifests))?;
        let made: Value = serde_json::from_str(&made).unwrap_or_default();
        let owner = made["metadata"]["uid"].as_str().unwrap_or_default();
        match kubectl.ask("making what they need", &["create", "-f", "-"], &rest(manifests, owner)) {
            Ok(_) => Ok(run_pods),
            Err(why) => {
                run_pods.remove();
                Err(why)
            }
        }
    }

    /// The same with a coordinator next to the workers, which conducts the run and gets the port forwarding. `passes`
    /// is called with the name by which workers find it. Also returns the owner's join file. From now on the run goes
    /// on without this process.
    ///
    /// # Errors
    /// As for [`PodSite::start_workers`].
    pub fn start_with_coordinator(
        &self,
        id: &str,
        workers: u32,
        join_files: &dyn Fn(&str) -> Result<JoinFiles, String>,
        host: &str,
        deadline_seconds: u64,
    ) -> Result<(RunPods, String), Error> {
        let manifests =
            self.objects(id.to_owned(), workers, PodDuty::Work(self.avoided_pods(host)?), deadline_seconds);
        self.check_admission(&manifests)?;
        let join_files = join_files(&manifests.name()).map_err(Error::Explained)?;
        let made = self.create(
            manifests,
            |manifests| manifests.coordinator(),
            |manifests, owner| manifests.coordinated_objects(owner, &join_files),
        );
        made.map(|run_pods| (run_pods, join_files.owner))
    }

    /// The objects of a run that was started earlier, and its owner's join file.
    ///
    /// # Errors
    /// If there is none, or the user may not read its secret.
    pub fn find_run(&self, id: &str) -> Result<(RunPods, String), Error> {
        let manifests = self.objects(id.to_owned(), 0, PodDuty::Work(None), 0);
        let seat = format!("{}-seat", manifests.name());
        let template = "go-template={{index .data \"owner.join\" | base64decode}}";
        let file = self.kubectl.ask(
            "asking for the run",
            &["get", "secret", &seat, "-o", template, "--ignore-not-found"],
            "",
        )?;
        if file.is_empty() {
            let place = self.describe();
            return Err(Error::Explained(format!(
                "there is no run {id} in {place}: what is over is removed after an hour"
            )));
        }
        Ok((self.run_pods(manifests, None), file))
    }

    fn run_pods(&self, manifests: Manifests, cleanup: Option<CleanupProcess>) -> RunPods {
        let (site, snapshot) = (self.clone(), Arc::default());
        RunPods { site, manifests, cleanup, snapshot, refreshed_at: None }
    }

    /// Asks the server whether it would admit one of the pods: for a job it rejects pods only when they are created.
    pub(crate) fn check_admission(&self, manifests: &Manifests) -> Result<(), Error> {
        let arguments = ["create", "--dry-run=server", "-f", "-", "-o", "name"];
        match self.kubectl.ask("asking whether a pod would be admitted", &arguments, &manifests.pod()) {
            // A user who may create jobs need not be allowed to create pods.
            Err(why) if is_forbidden(&why, "create", "pods") => Ok(()),
            answer => answer.map(drop),
        }
    }
}

impl RunPods {
    /// Where it is, for people.
    pub fn describe(&self) -> String {
        format!("{} in {}", self.manifests.name(), self.site.describe())
    }

    /// As `--on` takes it.
    pub fn on_option(&self) -> String {
        self.site.on_option()
    }

    /// The command that shows the logs.
    pub fn logs(&self) -> String {
        let namespace = &self.site.kubectl.namespace;
        match self.manifests.inside_pods.first() {
            Some(pod) => format!("kubectl logs -n {namespace} {pod} -c {}", self.manifests.name()),
            None => format!("kubectl logs -n {namespace} -l {}", self.manifests.selector()),
        }
    }

    /// Looks at the pods if it is time, without waiting for the result.
    pub fn refresh(&mut self) {
        let is_time = self.refreshed_at.is_none_or(|asked| asked.elapsed() >= REFRESH_INTERVAL);
        if !is_time || self.snapshot.is_refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        self.refreshed_at = Some(Instant::now());
        let (site, manifests, seen) = (self.site.clone(), self.manifests.clone(), Arc::clone(&self.snapshot));
        thread::spawn(move || {
            seen.update(&site, &manifests);
            seen.is_refreshing.store(false, Ordering::Release);
        });
    }

    /// Why the run cannot begin, as last seen.
    pub fn obstacle(&self) -> Option<String> {
        let stand = self.snapshot.lock();
        let warning = || stand.1.as_ref().map(|why| format!("the cluster makes no pods: {why}"));
        stand.0.obstacle().or_else(warning)
    }

    /// Which pods the run waits for, and why they do not come. Looks now.
    pub fn describe_waiting(&self) -> Option<String> {
        self.snapshot.update(&self.site, &self.manifests);
        self.obstacle().or_else(|| self.snapshot.lock().0.describe_waiting())
    }

    /// The node of the pod with this hostname. Looks if it has not seen it yet.
    pub fn node(&self, host: &str) -> Option<String> {
        let seen = || self.snapshot.lock().0.node(host).map(str::to_owned);
        seen().or_else(|| {
            self.snapshot.update(&self.site, &self.manifests);
            seen()
        })
    }

    /// Why the pod with this hostname is gone, if the cluster knows. Looks now.
    pub fn why_gone(&self, host: &str) -> Option<String> {
        self.snapshot.update(&self.site, &self.manifests);
        self.snapshot.lock().0.why_gone(host)
    }

    /// Grows to this many workers in all.
    ///
    /// # Errors
    /// If the cluster refuses.
    pub fn grow(&mut self, workers: u32) -> Result<(), Error> {
        // Both at once: an indexed job accepts nothing else.
        let change = json!({"spec": {"completions": workers, "parallelism": workers}}).to_string();
        let arguments = ["patch", "job", &self.manifests.name(), "--type=merge", "-p", &change, "-o", "name"];
        self.site.kubectl.ask("asking for more workers", &arguments, "")?;
        self.manifests.count = workers;
        // What was seen before says nothing of the new ones.
        self.snapshot = Arc::default();
        Ok(())
    }

    /// Whether no more than this many come, as last seen: the others are not created, unschedulable, or cannot start.
    pub fn is_stuck_at(&self, there: usize) -> bool {
        let stand = self.snapshot.lock();
        stand.0.coming_count() <= there && (stand.1.is_some() || stand.0.has_unplaced())
    }

    /// How the coordinator pod ended, if it did.
    pub fn coordinator_ended(&self) -> Option<String> {
        self.snapshot.lock().0.coordinator_ended()
    }

    /// Forwards a port to the coordinator, for its owner.
    ///
    /// # Errors
    /// If the cluster does not forward.
    pub fn forward(&self) -> Result<PortForward, Error> {
        PortForward::start(&self.site.kubectl, &self.manifests.name(), OWNER_PORT)
    }

    /// From now on it outlives this process.
    pub fn detach(&mut self) {
        if let Some(mut cleanup) = self.cleanup.take() {
            cleanup.disarm();
        }
    }

    /// Removes everything. What the cluster does not remove ends by itself.
    pub fn remove(&mut self) {
        match self.cleanup.take() {
            Some(mut cleanup) => cleanup.finish(),
            None => drop(remove(&self.site.kubectl, &self.manifests.name())),
        }
    }
}

impl Drop for RunPods {
    fn drop(&mut self) {
        if let Some(mut cleanup) = self.cleanup.take() {
            cleanup.finish();
        }
    }
}

/// A fresh ID for a run's objects.
pub fn new_id() -> String {
    let noise = sys::now().0.wrapping_mul(2_654_435_761) ^ u64::from(std::process::id()) << 40;
    format!("{:08x}", (noise >> 20) as u32)
}

impl PodSnapshot {
    fn lock(&self) -> std::sync::MutexGuard<'_, (Pods, Option<String>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the cluster. Without an answer, the last state stays.
    fn update(&self, site: &PodSite, manifests: &Manifests) {
        let ask = |arguments: &[&str]| -> Option<Value> {
            let output =
                site.kubectl.output_within("asking for the pods", arguments, "", QUERY_LIMIT).ok()?;
            serde_json::from_str(&output.stdout).ok().filter(|_| output.succeeded)
        };
        let selector = manifests.selector();
        let which = if manifests.inside_pods.is_empty() {
            vec!["-l", &selector]
        } else {
            manifests.inside_pods.iter().map(String::as_str).chain(["--ignore-not-found"]).collect()
        };
        let Some(list) = ask(&[&["get", "pods", "-o", "json"], &which[..]].concat()) else { return };
        let list = if manifests.inside_pods.is_empty() { list } else { as_pods(&list, &manifests.name()) };
        let pods = Pods::parse(&list);
        let is_short = pods.count() < manifests.count as usize;
        let about = format!("involvedObject.kind=Job,involvedObject.name={}", manifests.name());
        let events = || ask(&["get", "events", "--field-selector", &about, "-o", "json"]);
        let warning = is_short.then(events).flatten().and_then(|events| latest_warning(&events));
        *self.lock() = (pods, warning);
    }
}
