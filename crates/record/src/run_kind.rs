use crate::named::named;

named! {
    /// The kind of a run, named like its command.
    RunKind {
        /// Requests under one load.
        Run = "run",
        /// A storm under one load.
        RunProcesses = "run processes",
        /// The rate of requests that is held.
        Find = "find",
        /// The rate of process starts that is held.
        FindProcesses = "find processes",
        /// The number of connections that is held.
        FindConnections = "find connections",
        /// The maximum number of tasks.
        FindThreads = "find threads",
        /// The rate by the size of the working set.
        FindWorkingSet = "find working-set",
        /// Hypotheses tested by experiments.
        Try = "try",
        /// Costs of the machine.
        Probe = "probe",
        /// What a program runs on the processors.
        Profile = "profile",
    }
}

named! {
    /// The unit of a search's limit.
    LimitUnit {
        /// Requests per second.
        Requests = "requests/s",
        /// Process starts per second.
        Processes = "processes/s",
        /// Open connections.
        Connections = "connections",
        /// Bytes of the working set.
        Bytes = "B",
    }
}

named! {
    /// The unit of a limit on the number of tasks.
    SystemLimitUnit {
        /// Threads and processes.
        Tasks = "tasks",
        /// Memory mappings.
        Maps = "maps",
        /// Memory.
        Bytes = "bytes",
    }
}

impl LimitUnit {
    /// Whether it is a rate.
    pub fn is_rate(&self) -> bool {
        matches!(self, Self::Requests | Self::Processes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_stored_as_it_is_typed() {
        for (kind, stored) in [
            (RunKind::FindWorkingSet, "\"find working-set\""),
            (RunKind::Other("find threads-and-more".to_owned()), "\"find threads-and-more\""),
        ] {
            assert_eq!(serde_json::to_string(&kind).expect("it can be written"), stored);
            assert_eq!(serde_json::from_str::<RunKind>(stored).expect("it can be read"), kind);
        }
    }
}
