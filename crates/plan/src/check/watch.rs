//! What is watched beside the load.

use crate::draft::{Draft, SourceText};
use crate::placeholder::NameScope;
use crate::secret::masked_url;
use crate::url::TargetUrl;
use crate::watch::MetricsEndpoint;
use crate::{DatabaseAddress, Error, Key, Target, WatchPlan};

/// Linux assigns no higher process id (`PID_MAX_LIMIT`).
const MAX_PID: u32 = 1 << 22;

impl Draft {
    /// `target` is what is loaded: a database is asked itself, unless another is named.
    pub(super) fn watch(&self, target: &Target) -> Result<WatchPlan, Error> {
        let (top, base) = (&self.top, WatchPlan::default());
        let selectors: Vec<Key> =
            [Key::Pid, Key::Cgroup, Key::CommandText].into_iter().filter(|k| top.has(*k)).collect();
        if let [_, second, ..] = selectors[..] {
            return Err(top.error_at(
                second,
                "name the processes to watch in one way: by id, by control group, or by command line",
            ));
        }
        let pids =
            top.all(Key::Pid).iter().map(|given| given.parse_count(MAX_PID, "the number of a process"));
        let command = top.one(Key::CommandText).map(|given| {
            given.non_empty("expected a part of the command line of the processes to watch, such as app.jar")
        });
        let postgres = match (top.one(Key::Postgres), target) {
            (Some(given), _) => Some(watched_database(given)?),
            (None, Target::Sql(database)) => Some(database.clone()),
            (None, _) => None,
        };
        Ok(WatchPlan {
            on: top.flag(Key::On)?.unwrap_or(base.on),
            pids: pids.collect::<Result<_, _>>()?,
            cgroup: top.one(Key::Cgroup).map(cgroup).transpose()?,
            command: command.transpose()?.map(str::to_owned),
            postgres,
            metrics: top
                .one(Key::Metrics)
                .map(|given| MetricsEndpoint::parse(&given.text, &given.location))
                .transpose()?,
            attach: top.flag(Key::Attach)?.unwrap_or(base.attach),
        })
    }
}

fn watched_database(given: &SourceText) -> Result<DatabaseAddress, Error> {
    match TargetUrl::parse(&given.text, &NameScope::default()).map_err(|e| given.error(e))?.target {
        Target::Sql(mut database) => {
            if let Some(password) = &mut database.password {
                password.resolve_paths(&given.location);
            }
            Ok(database)
        }
        _ => Err(given.error(format!(
            "'{}' is not the URL of a PostgreSQL, such as postgres://me:{{env:PGPASSWORD}}@127.0.0.1/clinic",
            masked_url(&given.text)
        ))),
    }
}

fn cgroup(given: &SourceText) -> Result<String, Error> {
    let path = given.text.trim();
    let is_mount = path.starts_with("/sys/fs/cgroup");
    if path.trim_matches('/').is_empty() || is_mount || path.split('/').any(|part| part == "..") {
        return Err(given.error(format!(
            "'{path}' is not the path of a control group below its mount, such as /system.slice/app.service \
             (what follows the last colon in /proc/PID/cgroup)"
        )));
    }
    Ok(format!("/{}", path.trim_matches('/')))
}
