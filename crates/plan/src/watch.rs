/// What is watched beside the load, and how. By default whatever of the target is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    /// Watch at all.
    pub on: bool,
    /// These processes and their children, instead of whoever listens at the target's address.
    pub pids: Vec<u32>,
    /// The processes of this control group, a path below the mount.
    pub cgroup: Option<String>,
    /// The processes whose command line contains this.
    pub command: Option<String>,
    /// A PostgreSQL to ask what its sessions do.
    pub postgres: Option<String>,
    /// An endpoint in Prometheus' text format.
    pub metrics: Option<String>,
    /// A Java virtual machine may be asked, once for a verdict, where its threads stand.
    pub attach: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            on: true,
            pids: Vec::new(),
            cgroup: None,
            command: None,
            postgres: None,
            metrics: None,
            attach: true,
        }
    }
}
