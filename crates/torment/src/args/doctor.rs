use super::fleet::{PodArgs, cluster_place, service};
use clap::Args;
use cluster::PodOptions;

/// Say what this machine allows, and what torment loses otherwise
///
/// What torment sees of services, what it may do, how much load it can make and how exactly it keeps time: each limit and setting of
/// this machine, and of the shell it is started from, that matters to a measurement; what it means; and the command that changes it.
/// Nothing is changed and no load is made.
///
/// With --on k8s the same of a cluster: what you may do in the namespace, whether it accepts what a run makes there, whether it would
/// admit a worker, and whether a target's pods may be watched. Only with --try something is made there, and removed again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment doctor
  torment doctor --format json
  sudo torment doctor            what root has
  torment doctor --on k8s:lab/load --try
  torment doctor --on k8s:lab/load --target-service shop/clinic

Exit code 0 if nothing hinders a measurement, 92 if something does. What shows less, or could not be
read, changes no exit code.")]
#[command(next_help_heading = "Fleet")]
pub struct DoctorArgs {
    /// Ask a cluster instead, by your own kubectl: k8s, k8s:CONTEXT/NAMESPACE
    #[arg(long, value_name = "WHERE", value_parser = cluster_place)]
    on: Option<PodOptions>,
    /// Also run two workers there for ten seconds, without a target: tests the image, the route back and the clocks
    #[arg(long = "try", requires = "on")]
    tries: bool,
    /// Where pods reach this machine [default: the address from which the way to the cluster's server begins]
    #[arg(long, value_name = "HOST:PORT", requires = "tries")]
    reach: Option<String>,
    /// What pods run [default: torment:VERSION, as torment image makes it]
    #[arg(long, value_name = "NAME", requires = "on")]
    image: Option<String>,
    /// Also ask whether this service's pods would take a watcher (--watch-on inside): NAMESPACE/NAME
    #[arg(long, value_name = "NAME", value_parser = service, requires = "on")]
    target_service: Option<(String, String)>,
}

impl DoctorArgs {
    /// The place in a cluster that is asked about, and what is said of pods; and whether workers are to be tried there.
    pub fn cluster(self) -> Option<(Option<String>, PodArgs, bool)> {
        let Self { on, tries, reach, image, target_service } = self;
        let pods = PodArgs { reach, image, target_service, ..PodArgs::default() };
        on.map(|on| (on.place, pods, tries))
    }
}
