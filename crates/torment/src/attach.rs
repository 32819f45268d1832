//! `attach`: follows a run conducted in a cluster.

use crate::CommandError;
use crate::args::{AttachArgs, CommonArgs};
use crate::measure::{carry_out_as, open_run_store};
use crate::run_source;
use cluster::PodSite;
use record::Event;
use runner::Sink;
use store::Store;

/// Follows it from its beginning to its end.
pub fn attach(args: &AttachArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let site = PodSite::find(args.on.clone(), env!("CARGO_PKG_VERSION"))?;
    let store = open_run_store(args.keep.no_store, common)?;
    let before = store.is_some().then(|| run_source::open(common)).transpose()?;
    carry_out_as(&args.keep, store, &[], common, |reporter, stop| {
        let mut anew = ReplacingSink { old_store: before, reporter };
        runner::attach(&site, &args.id, &mut anew, stop)
    })
}

/// Replaces what was stored of a run by all of it.
struct ReplacingSink<'a> {
    old_store: Option<Store>,
    reporter: &'a mut dyn Sink,
}

impl Sink for ReplacingSink<'_> {
    fn event(&mut self, event: &Event) {
        if let (Event::RunStarted(started), Some(store)) = (event, self.old_store.take()) {
            // There may have been none.
            let _ = store.remove(&started.id);
        }
        self.reporter.event(event);
    }
}
