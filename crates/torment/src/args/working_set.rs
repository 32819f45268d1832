use super::label::KeepArgs;
use clap::Args;
use runner::{CacheKind, WorkingSetRequest};
use std::path::PathBuf;
use units::{Bytes, Nanos};

/// Find how much data can be in use before reads become slow
///
/// Reads at random in a growing set, through a cache that is kept small, and explains the rates by three numbers:
/// what a hit takes, what a miss takes, and what fits. From these it predicts the size at which the rate halves, and
/// checks that by measuring.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment find working-set                        a file it makes, cached by the kernel in 256 MiB
  torment find working-set --file /data/big.db    your file, only read
  torment find working-set --direct               cached by torment instead; needs no privileges
  torment find working-set --depth 16             16 reads in flight at once
  torment find working-set --memory               the processor's caches
  torment find working-set --postgres             rows by key, in a PostgreSQL that it starts

Exit codes: 0 predicted and measured sizes agree within 10%, 92 they do not, 91 no cache explains the rates.")]
pub struct WorkingSetArgs {
    /// Read cache lines from memory: measures the processor's caches
    #[arg(long, conflicts_with_all = ["file", "direct", "depth", "postgres", "limit"], help_heading = "What is read")]
    memory: bool,
    /// Read this file instead of making one; it is not changed
    #[arg(long, value_name = "PATH", conflicts_with = "postgres", help_heading = "What is read")]
    file: Option<PathBuf>,
    /// Bypass the kernel's cache, and use one of torment's own; needs no privileges
    #[arg(long, conflicts_with_all = ["depth", "postgres"], help_heading = "What is read")]
    direct: bool,
    /// Reads in flight at once, through io_uring
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024), conflicts_with = "postgres", help_heading = "What is read")]
    depth: u32,
    /// Read rows by key, in a PostgreSQL that torment starts, or in a temporary table on this server
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", help_heading = "What is read")]
    postgres: Option<String>,
    /// Memory of the control group, or of torment's own cache: this keeps the cache small
    #[arg(long, value_name = "SIZE", default_value = "256MiB", help_heading = "How")]
    limit: Bytes,
    /// Sizes of the set, with commas [default: half to 8 times the limit]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', help_heading = "How")]
    sizes: Vec<Bytes>,
    /// Seed for the random reads
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "How")]
    seed: u64,
    /// Measure fewer sizes, each half as long
    #[arg(long, help_heading = "How")]
    quick: bool,
    /// What becomes of the run.
    #[command(flatten, next_help_heading = "How")]
    pub keep: KeepArgs,
}

/// The least memory in which a reader, or a server, can live.
const LIMIT_LEAST: Bytes = Bytes(32 << 20);
/// How long each size is read,
const TIME: Nanos = Nanos::from_secs(2);
/// and with `--quick`.
const QUICK: Nanos = Nanos::from_secs(1);

impl WorkingSetArgs {
    /// What is asked.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn request(&self, program: PathBuf) -> Result<WorkingSetRequest, String> {
        if self.limit < LIMIT_LEAST {
            return Err(format!(
                "--limit: {} is too little memory; expected at least {LIMIT_LEAST}",
                self.limit
            ));
        }
        if let Some(small) = self.sizes.iter().find(|size| size.0 < 16 << 10) {
            return Err(format!("--sizes: {small} is too small; expected at least 16 KiB"));
        }
        let path = self.file.clone();
        let cached = match (&self.postgres, self.memory, self.direct) {
            (Some(url), ..) => CacheKind::Postgres { url: Some(url.clone()).filter(|url| !url.is_empty()) },
            (None, true, _) => CacheKind::Memory,
            (None, false, true) => CacheKind::Direct { path },
            (None, false, false) => CacheKind::File { path, depth: self.depth },
        };
        Ok(WorkingSetRequest {
            cache: cached,
            limit: self.limit,
            sizes: self.sizes.clone(),
            time: if self.quick { QUICK } else { TIME },
            quick: self.quick,
            seed: self.seed,
            program,
            words: self.words(),
        })
    }

    /// As it could be typed again, without what is secret.
    fn words(&self) -> String {
        let mut words = Vec::new();
        let mut say = |on: bool, word: String| {
            if on {
                words.push(word)
            }
        };
        say(self.memory, "--memory".to_owned());
        say(self.direct, "--direct".to_owned());
        say(self.postgres.is_some(), "--postgres".to_owned());
        say(self.depth > 1, format!("--depth {}", self.depth));
        if let Some(file) = &self.file {
            say(true, format!("--file {}", file.display()));
        }
        let sizes: Vec<String> = self.sizes.iter().map(|size| size.to_string().replace(' ', "")).collect();
        say(!sizes.is_empty(), format!("--sizes {}", sizes.join(",")));
        say(!self.memory, format!("--limit {}", self.limit.to_string().replace(' ', "")));
        say(true, format!("--seed {}", self.seed));
        say(self.quick, "--quick".to_owned());
        words.join(" ")
    }
}
