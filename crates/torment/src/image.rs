//! `image`: the image that pods run.

use crate::CommandError;
use crate::args::{CommonArgs, ImageArgs};
use anyhow::{Context, anyhow};
use cluster::ImageSpec;
use runner::exit;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};

/// This program, even if its file was renamed.
const PROGRAM: &str = "/proc/self/exe";

/// Writes it to a file, or to standard output.
pub fn image(args: &ImageArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let program = std::fs::read(PROGRAM).context("torment cannot read itself")?;
    let own = ImageSpec::of_build(env!("CARGO_PKG_VERSION"));
    let spec = ImageSpec { name: args.name.clone().unwrap_or(own.name), ..own };
    let write = |to: &mut dyn Write| {
        let mut to = BufWriter::new(to);
        cluster::write_image(&program, &spec, &mut to)?;
        to.flush()
    };
    if args.output == "-" {
        let mut out = std::io::stdout().lock();
        if out.is_terminal() {
            return Err(crate::usage_error(anyhow!(
                "an image is nothing for a terminal: -o FILE, or send it on: -o - | …"
            )));
        }
        write(&mut out)?;
    } else {
        let cannot = || format!("cannot write '{}'", args.output);
        write(&mut File::create(&args.output).with_context(cannot)?).with_context(cannot)?;
    }
    if !common.quiet {
        eprintln!(
            "{} for {}: load it where pods run (ctr -n k8s.io images import FILE; docker load -i FILE), or push it to a registry",
            spec.name, spec.architecture
        );
    }
    Ok(exit::MET)
}
