//! The options of `find` and `run` that say what is watched beside the load.

use super::request::{flag, set};
use clap::Args;
use plan::{Draft, Key};

#[derive(Debug, Args)]
#[command(next_help_heading = "Watch")]
pub(super) struct WatchOptions {
    /// Watch nothing during the load [default: watch whatever part of the target is on this machine]
    #[arg(long, conflicts_with_all = ["pid", "cgroup", "command", "postgres", "metrics", "no_attach"])]
    no_watch: bool,
    /// Watch this process and its children, instead of the one that listens at the target's address; may be repeated
    #[arg(long, value_name = "PID")]
    pid: Vec<String>,
    /// Watch the processes of this control group, by its path below the mount: /system.slice/app.service
    #[arg(long, value_name = "PATH")]
    cgroup: Option<String>,
    /// Watch the processes whose command line contains this
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// Ask this PostgreSQL what its sessions are doing, as a role with pg_monitor [default: the target, if it is one]
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Read metrics from this address once a second, in the Prometheus text format
    #[arg(long, value_name = "URL")]
    metrics: Option<String>,
    /// Never attach to a Java virtual machine to ask where its threads are
    #[arg(long)]
    no_attach: bool,
}

impl WatchOptions {
    pub(super) fn set(&self, draft: &mut Draft) {
        flag(draft, Key::On, "--no-watch", self.no_watch, "false");
        set(draft, Key::Pid, "--pid", &self.pid);
        set(draft, Key::Cgroup, "--cgroup", &self.cgroup);
        set(draft, Key::CommandText, "--command", &self.command);
        set(draft, Key::Postgres, "--postgres", &self.postgres);
        set(draft, Key::Metrics, "--metrics", &self.metrics);
        flag(draft, Key::Attach, "--no-attach", self.no_attach, "false");
    }
}
