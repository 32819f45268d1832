use clap::Args;

/// Write the container image that pods run: this program, and nothing else
///
/// One file that ctr, docker, podman, skopeo and crane take. It holds this very program in an empty root, for machines of this kind, so that pods
/// are of the same build as the run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment image -o torment.tar
  torment image -o - | ssh node2 sudo ctr -n k8s.io images import -     on each node; of k3s: k3s ctr images import -
  torment image -o torment.tar --name registry.lab/torment:1            to be pushed: docker load, docker push")]
pub struct ImageArgs {
    /// The file; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: String,
    /// Name and tag [default: torment:VERSION, which --on k8s asks for]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub name: Option<String>,
}

fn name(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "./:_-".contains(c);
    let (path, tag) = text.rsplit_once('/').map_or(("", text), |(path, last)| (path, last));
    if text.is_empty() || !text.chars().all(inner) || path.starts_with('/') || tag.split(':').count() != 2 {
        return Err("expected a name with a tag, in small letters, such as registry.lab/torment:1".to_owned());
    }
    Ok(text.to_owned())
}
