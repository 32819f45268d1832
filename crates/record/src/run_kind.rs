use crate::named::named;

named! {
    /// What kind of run it is, named as it is typed.
    RunKind {
        /// Requests under one load.
        Run = "run",
        /// Starts of a program under one load.
        RunProcesses = "run processes",
        /// The rate of requests that holds.
        Find = "find",
        /// The rate of starts of a program that holds.
        FindProcesses = "find processes",
        /// The number of connections that holds.
        FindConnections = "find connections",
        /// How many tasks there can be.
        FindThreads = "find threads",
        /// How the rate depends on the size of what is read.
        FindWorkingSet = "find working-set",
        /// Hypotheses as experiments.
        Try = "try",
        /// What the machine costs.
        Probe = "probe",
        /// What a program does on the processors.
        Profile = "profile",
    }
}

named! {
    /// What the limit of a search is counted in.
    LimitUnit {
        /// Requests a second.
        Requests = "requests/s",
        /// Starts of a program a second.
        Processes = "processes/s",
        /// Connections that are open at once.
        Connections = "connections",
        /// Bytes of what is read again and again.
        Bytes = "B",
    }
}

named! {
    /// What a limit on the number of tasks is counted in.
    SystemLimitUnit {
        /// Threads and processes.
        Tasks = "tasks",
        /// Mappings of memory.
        Maps = "maps",
        /// Memory.
        Bytes = "bytes",
    }
}

impl LimitUnit {
    /// Whether it is one a second.
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
