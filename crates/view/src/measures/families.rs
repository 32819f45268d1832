//! Every family: the names that other people's tools know. One that was there once keeps its name, type and unit.

/// What a kind of sample is called and means.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name as Prometheus has it: unit and `_total` included.
    pub name: &'static str,
    /// What its samples are.
    pub kind: Kind,
    /// Its unit as OpenTelemetry writes it (UCUM): `s`, `By`, `{request}/s`; empty if it has none.
    pub unit: &'static str,
    /// Its own labels, beside [`super::LABELS`].
    pub labels: &'static [&'static str],
    /// What it means, in a sentence.
    pub help: &'static str,
}

/// What the samples of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, as long as the run lasts.
    Counter,
    /// As it was last seen.
    Gauge,
    /// Lengths of time in buckets; only grows.
    Histogram,
    /// Always 1: its labels say something.
    Info,
}

impl Kind {
    /// The word of the text formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}

impl Family {
    /// Its name without what its type adds: OpenMetrics and OpenTelemetry call it so.
    pub fn stem(&self) -> &'static str {
        match self.kind {
            Kind::Counter => self.name.strip_suffix("_total").unwrap_or(self.name),
            Kind::Info => self.name.strip_suffix("_info").unwrap_or(self.name),
            Kind::Gauge | Kind::Histogram => self.name,
        }
    }

    /// The unit as a word that a name may end in.
    pub fn unit_word(&self) -> Option<&'static str> {
        match self.unit {
            "s" => Some("seconds"),
            "By" => Some("bytes"),
            _ => None,
        }
    }
}

macro_rules! families {
    ($($id:ident: $kind:ident $name:literal $unit:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub(super) static $id: Family =
            Family { name: $name, kind: Kind::$kind, unit: $unit, labels: &[$($label),*], help: $help };)*
        /// All of them, in the order in which they are told.
        pub static FAMILIES: &[&Family] = &[$(&$id),*];
    };
}

families! {
    // The run.
    INFO: Info "torment_run_info" "" ["version", "goal", "host", "part_of"]
        "What is known of the run in words; part_of is the experiment that it is a measurement of.";
    RUNNING: Gauge "torment_run_running" "" []
        "1 while the run goes on, 0 when it has ended.";
    STARTED: Gauge "torment_run_start_time_seconds" "s" []
        "When the run began, since 1970.";

    // The load.
    OFFERED: Gauge "torment_offered_per_second" "{request}/s" []
        "Starts that came due in the last second.";
    ACHIEVED: Gauge "torment_achieved_per_second" "{request}/s" []
        "Starts that were made in the last second.";
    GOODPUT: Gauge "torment_goodput_per_second" "{request}/s" []
        "Requests of the last second that were answered as expected, and in time.";
    DUE: Counter "torment_requests_due_total" "{request}" []
        "Starts that came due; of a storm processes instead of requests.";
    SENT: Counter "torment_requests_sent_total" "{request}" []
        "Starts that were made.";
    REQUESTS: Counter "torment_requests_total" "{request}" ["outcome"]
        "Starts by what became of them: ok, late, failed, timeout, refused, unsent, unfinished.";
    RESPONSES: Counter "torment_responses_total" "{response}" ["status"]
        "Answers by status, expected or not.";
    RESPONSE: Histogram "torment_response_time_seconds" "s" []
        "From when a request was due to its answer; of requests given up the time that they had waited.";
    RESPONSE_MAX: Gauge "torment_response_time_max_seconds" "s" []
        "The longest response time of the last second.";
    SERVICE: Histogram "torment_service_time_seconds" "s" []
        "From when a request was sent to its answer.";
    LATENESS: Histogram "torment_lateness_seconds" "s" []
        "From when a request was due to when it was sent: waiting for a connection, and torment's own delay.";
    PACING: Histogram "torment_pacing_seconds" "s" []
        "From when a request was due to when torment took it up: its own delay alone.";
    IN_FLIGHT: Gauge "torment_requests_in_flight" "{request}" []
        "Requests sent and not done, at the end of the last second.";
    BACKLOG: Gauge "torment_requests_backlog" "{request}" []
        "Requests due and not sent, at the end of the last second.";
    CONNECTIONS: Gauge "torment_connections" "{connection}" []
        "Connections that are open, at the end of the last second.";
    RESENT: Counter "torment_requests_resent_total" "{request}" []
        "Requests that were sent once more, because the server was closing their connection.";
    CONNECTS: Counter "torment_connections_opened_total" "{connection}" []
        "Connections opened.";
    RECEIVED: Counter "torment_received_bytes_total" "By" []
        "Bytes received.";

    // The search, the experiment.
    TRIAL: Gauge "torment_trial_number" "" ["purpose"]
        "Number of the trial that goes on, or of the last one, and what it is for.";
    TRIAL_RATE: Gauge "torment_trial_planned_per_second" "{request}/s" []
        "The rate that this trial is to offer; none of a closed loop.";
    TRIALS: Counter "torment_trials_total" "{trial}" ["purpose", "class"]
        "Trials that are over, by what they are for and their class: good, bad, void, unjudged.";
    LIMIT: Gauge "torment_limit" "" ["goal", "bound", "unit"]
        "The bounds of a search so far: lower holds, upper does not.";
    CAVEATS: Gauge "torment_caveats" "{caveat}" ["code"]
        "Reasons for doubt, each with the number of trials that it touches; 1 if it touches the whole run.";
    STARTS: Counter "torment_starts_total" "{start}" ["arm"]
        "Starts of an experiment's arms that are over.";
    FIGURES: Counter "torment_figures_total" "{figure}" ["table"]
        "Figures of the machine that torment probe has measured.";
    TASKS: Gauge "torment_tasks" "{task}" []
        "Tasks that torment find threads holds at this moment.";

    // The target.
    CPU: Counter "torment_target_cpu_seconds_total" "s" ["program", "role"]
        "Processor time of a program that is watched, with its children, while it was loaded.";
    CPU_ALLOWED: Gauge "torment_target_cpus_allowed" "{cpu}" ["program", "role"]
        "Processors that it may use: its mask, and the smallest quota above it.";
    CPU_QUOTA: Gauge "torment_target_cpu_quota" "{cpu}" ["program", "role"]
        "The processor quota of its control groups, the smallest one.";
    PERIODS: Counter "torment_target_quota_periods_total" "{period}" ["program", "role"]
        "Periods of that quota that have passed.";
    THROTTLED_PERIODS: Counter "torment_target_throttled_periods_total" "{period}" ["program", "role"]
        "Periods in which the quota was used up.";
    THROTTLED: Counter "torment_target_throttled_seconds_total" "s" ["program", "role"]
        "Time stood still by the quota, summed over processors.";
    GROUP_CPU: Counter "torment_target_group_cpu_seconds_total" "s" ["program", "role", "group"]
        "Processor time by group of threads: those of one name, digits folded.";
    GROUP_DELAY: Counter "torment_target_group_run_delay_seconds_total" "s" ["program", "role", "group"]
        "Time that a group's threads were ready and waited for a processor.";
    THREADS: Gauge "torment_target_threads" "{thread}" ["program", "role", "group", "state"]
        "Threads by group and by what they do or wait for, on average over the last second.";
    MEMORY: Gauge "torment_target_memory_bytes" "By" ["program", "role"]
        "Resident memory.";
    CGROUP_MEMORY: Gauge "torment_target_cgroup_memory_bytes" "By" ["program", "role"]
        "Memory in use by its control group, without the page cache.";
    CGROUP_LIMIT: Gauge "torment_target_cgroup_memory_limit_bytes" "By" ["program", "role"]
        "What that group may use.";
    CLIENTS: Gauge "torment_target_client_connections" "{connection}" ["program", "role"]
        "Connections made to it.";
    PEERS: Gauge "torment_target_peer_connections" "{connection}" ["program", "role", "peer"]
        "Connections that it has made, by the other end, on average over the last second.";
    QUEUE: Gauge "torment_target_accept_queue" "{connection}" ["program", "role", "listener"]
        "Connections made and not yet accepted, the most that were seen in the last second.";
    HEAP: Gauge "torment_target_jvm_heap_used_bytes" "By" ["program", "role"]
        "Heap in use by its Java virtual machine.";
    HEAP_MAX: Gauge "torment_target_jvm_heap_max_bytes" "By" ["program", "role"]
        "How large that heap may become.";
    GC_TIME: Counter "torment_target_jvm_gc_pause_seconds_total" "s" ["program", "role"]
        "Time stood still for garbage collection.";
    GC: Counter "torment_target_jvm_gc_pauses_total" "{pause}" ["program", "role"]
        "Pauses for garbage collection.";
    SAFEPOINT_TIME: Counter "torment_target_jvm_safepoint_seconds_total" "s" ["program", "role"]
        "Time stood still at safepoints, whatever for.";
    COMPILES: Counter "torment_target_jvm_compiled_methods_total" "{method}" ["program", "role"]
        "Methods compiled while it runs.";

    // Its database, and the machine.
    SESSIONS: Gauge "torment_database_sessions" "{session}" ["state", "wait_type", "wait_event"]
        "Sessions of PostgreSQL by state and by what they wait for, on average over the last second.";
    DATABASE_CONNECTIONS: Gauge "torment_database_connections" "{connection}" []
        "Sessions of all databases.";
    TRANSACTIONS: Counter "torment_database_transactions_total" "{transaction}" ["end"]
        "Transactions by how they ended: commit, rollback.";
    WAL: Counter "torment_database_wal_bytes_total" "By" []
        "Bytes of write-ahead log.";
    BLOCKS: Counter "torment_database_blocks_read_total" "{block}" []
        "Pages that were not in shared buffers.";
    HOST_CPU: Counter "torment_host_cpu_seconds_total" "s" ["mode"]
        "Processor time of the machine: user, system, idle, iowait, steal.";
    NEIGHBOURS: Counter "torment_host_neighbours_cpu_seconds_total" "s" []
        "Processor time of processes that are neither watched nor torment.";
    HOST_MEMORY: Gauge "torment_host_memory_available_bytes" "By" []
        "Memory of the machine that could be had.";
    NETWORK: Counter "torment_network_events_total" "{event}" ["event"]
        "What went wrong below the target's connections: listen_overflow, listen_drop, retransmitted.";
    OWN_CPU: Counter "torment_own_cpu_seconds_total" "s" ["part"]
        "Processor time of torment: loops make the load, watch looks at the target, rest is all else.";
    OWN_DELAY: Counter "torment_own_run_delay_seconds_total" "s" []
        "Time that torment's loops were ready and waited for a processor.";
}
