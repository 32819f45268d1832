use super::KeepArgs;
use super::fleet::cluster_place;
use clap::Args;
use cluster::PodOptions;

/// Follow a run that is conducted in a cluster, from its beginning on
///
/// Of a run that was begun with --on k8s --conduct-there and is followed by nobody any more: this machine slept, or was another. It is kept
/// here like any other; what is kept of it already is replaced. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment attach 3f9a2c1d
  torment attach 3f9a2c1d --on k8s:lab/load

A run is there until an hour after its end.")]
pub struct AttachArgs {
    /// Its id there, as printed when it started
    #[arg(value_name = "ID", value_parser = id)]
    pub id: String,
    /// Where: k8s, k8s:CONTEXT/NAMESPACE
    #[arg(long, value_name = "WHERE", default_value = "k8s", value_parser = cluster_place)]
    pub on: PodOptions,
    /// What becomes of the run.
    #[command(flatten)]
    pub keep: KeepArgs,
}

fn id(text: &str) -> Result<String, String> {
    let text = text.strip_prefix("torment-").unwrap_or(text);
    let is_id = !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    is_id.then(|| text.to_owned()).ok_or_else(|| "expected letters and digits, such as 3f9a2c1d".to_owned())
}
