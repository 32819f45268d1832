use super::fleet::{DoctorFleetArgs, PodArgs};
use clap::Args;

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
pub struct DoctorArgs {
    #[command(flatten)]
    asked: DoctorFleetArgs,
}

impl DoctorArgs {
    /// The place in a cluster that is asked about, and what is said of pods; and whether workers are to be tried there.
    pub fn cluster(&self) -> Option<(Option<String>, PodArgs, bool)> {
        self.asked.cluster()
    }
}
