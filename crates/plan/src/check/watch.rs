//! What is watched beside the load.

use crate::draft::{Draft, Given};
use crate::placeholder::Names;
use crate::secret::masked_url;
use crate::url::Address;
use crate::watch::Endpoint;
use crate::{Database, Error, Key, Target, Watch};

/// Linux gives no higher number to a process (`PID_MAX_LIMIT`).
const MAX_PID: u32 = 1 << 22;

impl Draft {
    /// `target` is what is loaded: a database is asked itself, unless another is named.
    pub(super) fn watch(&self, target: &Target) -> Result<Watch, Error> {
        let (top, base) = (&self.top, Watch::default());
        let ways: Vec<Key> =
            [Key::Pid, Key::Cgroup, Key::CommandText].into_iter().filter(|k| top.has(*k)).collect();
        if let [_, second, ..] = ways[..] {
            return Err(top.complain(
                second,
                "name the processes to watch in one way: by id, by control group, or by command line",
            ));
        }
        let pids = top.all(Key::Pid).iter().map(|given| given.count(MAX_PID, "the number of a process"));
        let command = top.one(Key::CommandText).map(|given| {
            given.said("expected a part of the command line of the processes to watch, such as app.jar")
        });
        let postgres = match (top.one(Key::Postgres), target) {
            (Some(given), _) => Some(watched_database(given)?),
            (None, Target::Sql(database)) => Some(database.clone()),
            (None, _) => None,
        };
        Ok(Watch {
            on: top.flag(Key::On)?.unwrap_or(base.on),
            pids: pids.collect::<Result<_, _>>()?,
            cgroup: top.one(Key::Cgroup).map(cgroup).transpose()?,
            command: command.transpose()?.map(str::to_owned),
            postgres,
            metrics: top
                .one(Key::Metrics)
                .map(|given| Endpoint::parse(&given.text, &given.place))
                .transpose()?,
            attach: top.flag(Key::Attach)?.unwrap_or(base.attach),
        })
    }
}

fn watched_database(given: &Given) -> Result<Database, Error> {
    match Address::parse(&given.text, &Names::default()).map_err(|e| given.error(e))?.target {
        Target::Sql(mut database) => {
            if let Some(password) = &mut database.password {
                password.rooted(&given.place);
            }
            Ok(database)
        }
        _ => Err(given.error(format!(
            "'{}' is not the URL of a PostgreSQL, such as postgres://me:{{env:PGPASSWORD}}@127.0.0.1/clinic",
            masked_url(&given.text)
        ))),
    }
}

fn cgroup(given: &Given) -> Result<String, Error> {
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
