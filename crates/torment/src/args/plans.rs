//! `plan`: plan files made of something else, and checked.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What is done with a plan file.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "a comment here would take the place of the help text of its arguments")]
pub enum PlanAction {
    /// Make a plan from a curl command, as browsers copy it
    ///
    /// Secrets stay out of the plan: {env:NAME} stands for them. Whatever is not carried over is reported.
    #[command(after_help = "\
Examples:
  torment plan from-curl 'curl -H \"Accept: text/html\" http://127.0.0.1:8080/' -o plan.toml
  xclip -o | torment plan from-curl -")]
    FromCurl {
        /// The command in quotes, or - for standard input
        #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
        command: String,
        #[command(flatten)]
        output: PlanOutput,
    },
    /// Make a plan from a browser's recording (HAR): one flow, with its pauses
    #[command(after_help = "Example:\n  torment plan from-har recording.har -o shop.toml")]
    FromHar {
        /// The recording, or - for standard input
        file: String,
        /// Keep images, style sheets, scripts, fonts and media too
        #[arg(long)]
        include_assets: bool,
        /// Keep only requests to this origin, https://host [default: that of the first page]
        #[arg(long, value_name = "URL")]
        origin: Option<String>,
        #[command(flatten)]
        output: PlanOutput,
    },
    /// Make a plan from an OpenAPI description: one request per operation
    #[command(after_help = "\
Example:
  torment plan from-openapi openapi.yaml --base http://127.0.0.1:8080/v1 -o api.toml")]
    FromOpenapi {
        /// The description, JSON or YAML, or - for standard input
        file: String,
        /// Include operations that change something [default: comment them out]
        #[arg(long)]
        include_writes: bool,
        /// Address of the service [default: the description's first server]
        #[arg(long, value_name = "URL")]
        base: Option<String>,
        #[command(flatten)]
        output: PlanOutput,
    },
    /// Read a plan file and all the files it names, and say how it is understood
    ///
    /// Nothing is sent. An environment variable that is not set is reported, but is no error.
    #[command(after_help = "Example:\n  torment plan check plan.toml")]
    Check {
        /// The plan file, or - for standard input
        file: String,
    },
    /// Print the reference of plan files, as Markdown
    #[command(after_help = "Example:\n  torment plan reference | less")]
    Reference,
}

/// Where the plan goes.
#[derive(Debug, Args)]
pub struct PlanOutput {
    /// Write the plan to this file, which must not exist yet [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
