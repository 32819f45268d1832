use std::path::PathBuf;

/// Follow the path from the C library's function to the kernel, in its machine code and in a running program
///
/// Which functions it calls, which system call they end in, and with which arguments: read from the machine code of
/// this machine's C library without running it. Then the same call is watched in a program that makes it, and the two
/// are compared. Exit code 0 if they agree, 1 if not, 91 if no installed program makes the call.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  torment explain fork                       of the shell's C library\n  torment explain thread --program ./server  of the one that your program gets"
)]
pub struct CallArgs {
    /// Read the C library that the loader would pick for this program
    #[arg(long, value_name = "FILE", default_value = "/bin/sh")]
    pub program: PathBuf,
}

/// Say whether a program is static or dynamic, and what it needs and why, without running it
///
/// Shows its loader, its libraries, what it uses from each, and what keeps it from being static. Neither the program
/// nor its loader is started, so files of unknown origin are safe.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  torment explain binary ./server        is it static, and if not, why?\n  torment explain binary sort            a program of the search path"
)]
pub struct BinaryArgs {
    /// A program or library; a name without a slash is also looked up in PATH
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}
