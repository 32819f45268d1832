//! `find threads`: calls the runner, and shows the result.

use crate::args::{CommonArgs, ThreadsArgs};
use crate::measure::{carry_out_as, open_run_store};
use crate::{CommandError, print_result, usage_error};
use anyhow::{Context, anyhow};
use runner::exit;
use tasks::ThreadsWanted;
use units::Bytes;

/// Every limit, without trying any.
pub fn limits(common: &CommonArgs) -> Result<u8, CommandError> {
    let rooms = tasks::forecast(&ThreadsWanted::default());
    print_result(
        || view::thread_limit_lines(&rooms),
        || serde_json::json!({ "schema": record::SCHEMA, "limits": rooms }),
        common,
    )?;
    Ok(exit::MET)
}

/// Creates threads until a limit gives.
pub fn threads(args: &ThreadsArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let wanted = ThreadsWanted {
        stack: args.stack,
        touch: args.touch.unwrap_or(Bytes(0)),
        raw: args.raw,
        max: args.most,
        until_failure: args.until_failure,
        maps: args.maps,
    };
    wanted.check().map_err(|why| usage_error(anyhow!(why)))?;
    let program =
        std::env::current_exe().context("torment cannot find its own executable to start it again")?;
    let words = std::env::args().skip_while(|word| word != "threads").skip(1).collect::<Vec<_>>().join(" ");
    let crowding = runner::ThreadsRequest { wanted, program, words };
    carry_out_as(&args.keep, open_run_store(args.keep.no_store, common)?, &[], common, |reporter, stop| {
        runner::threads(&crowding, reporter, stop)
    })
}
