use clap::Args;

/// Say what this machine allows, and what torment loses otherwise
///
/// What torment sees of services, what it may do, how much load it can make and how exactly it keeps time: each limit and setting of
/// this machine, and of the shell it is started from, that matters to a measurement; what it means; and the command that changes it.
/// Nothing is changed and no load is made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment doctor
  torment doctor --format json
  sudo torment doctor            what root has

Exit code 0 if nothing hinders a measurement, 92 if something does. What shows less, or could not be
read, changes no exit code.")]
pub struct DoctorArgs {}
