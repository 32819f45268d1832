//! Everything a cell needs, started in order; dropped, it ends in the reverse order.

use crate::Trouble;
use crate::burn::Burner;
use crate::cell::{Cell, Neighbour, Service as Kind};
use crate::client;
use crate::group::Group;
use crate::java;
use crate::postgres::Postgres;
use crate::service::{limit_descriptors, own, start};
use crate::space::{self, Space};
use runner::{Listening, Stop};
use std::net::{SocketAddr, TcpStream};

/// The processors of cells that need two, one for each side.
const SERVICE_CORE: u32 = 1;
const GENERATOR_CORE: u32 = 0;

/// What has been started. The order of the fields is the order in which they end: a group can only
/// be removed after its processes.
pub(crate) struct Scene {
    _held: Vec<TcpStream>,
    pub(crate) neighbour: Option<Burner>,
    pub(crate) service: Listening,
    downstream: Option<Listening>,
    pub(crate) postgres: Option<Postgres>,
    _groups: Vec<Group>,
    _space: Option<Space>,
    /// Processors of the load generator; none: all.
    pub(crate) generator_cores: Vec<u32>,
}

impl Scene {
    /// Starts all of it.
    pub(crate) fn set(cell: &Cell, stop: &Stop) -> Result<Self, Trouble> {
        let around = &cell.around;
        let mut groups = Vec::new();
        let space = around.ports.map(Space::enter).transpose()?;
        let postgres = around.postgres.map(|asked| Postgres::start(asked.settings, stop)).transpose()?;
        let downstream = around.downstream.map(|options| own(options, |_| Ok(()))).transpose()?;
        let group = around.limits.of_group().then(|| Group::make(&around.limits)).transpose()?;
        let began = |pid| {
            if let Some(group) = &group {
                group.add(pid)?;
            }
            around.limits.descriptors.map_or(Ok(()), |most| limit_descriptors(pid, most))
        };
        let (mut generator_cores, mut burning_core) = (Vec::new(), None);
        let service = match &cell.service {
            Kind::Own(options) => {
                let core = SERVICE_CORE.to_string();
                let mut options = options.to_vec();
                if let Some(server) = &postgres {
                    options.extend(["--database", &server.url]);
                }
                if around.neighbour != Neighbour::None {
                    two_processors()?;
                    options.extend(["--cores", &core]);
                    generator_cores = vec![GENERATOR_CORE];
                    burning_core = Some(match around.neighbour {
                        Neighbour::OfGenerator => GENERATOR_CORE,
                        _ => SERVICE_CORE,
                    });
                }
                own(&options, began)?
            }
            Kind::Java { release, options, workers, pool, virtual_threads } => {
                let mut command = java::command(*release, options)?;
                command.env("PORT", "0").env("WORKERS", workers.to_string()).env("POOL", pool.to_string());
                command.env("VIRTUAL", virtual_threads.to_string());
                if let Some(server) = &postgres {
                    command.env("DATABASE_URL", jdbc(&server.url));
                }
                start(&mut command, began)?
            }
        };
        groups.extend(group);
        if let (Some(server), Some(asked)) = (&postgres, around.postgres) {
            if let Some(page) = asked.before {
                client::get(service.address, page).map_err(Trouble::Fail)?;
                server.forget_pages().map_err(Trouble::fail("the database's files"))?;
            }
            if asked.limits.of_group() {
                let group = Group::make(&asked.limits)?;
                server_and_sessions(server.pid).into_iter().try_for_each(|pid| group.add(pid))?;
                groups.push(group);
            }
        }
        let neighbour = burning_core
            .map(|core| Burner::start(core, around.neighbour == Neighbour::OfGenerator))
            .transpose()?;
        let held = around.ports.map(|ports| space::hold(service.address, ports.held)).transpose()?;
        Ok(Self {
            _held: held.unwrap_or_default(),
            neighbour,
            service,
            downstream,
            postgres,
            _groups: groups,
            _space: space,
            generator_cores,
        })
    }

    /// A page as it is asked for.
    pub(crate) fn page(&self, page: &str) -> String {
        let address = self.downstream.as_ref().map(|service| service.address.to_string());
        page.replace("{downstream}", &address.unwrap_or_default())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.service.address
    }
}

/// A PostgreSQL's process and its children: those that exist, and by the first those to come.
fn server_and_sessions(server: u32) -> Vec<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    std::iter::once(server).chain(children).collect()
}

fn two_processors() -> Result<(), Trouble> {
    let ours = rustix::thread::sched_getaffinity(None).map_err(Trouble::fail("our processors"))?;
    if [GENERATOR_CORE, SERVICE_CORE].iter().all(|core| ours.is_set(*core as usize)) {
        return Ok(());
    }
    Err(Trouble::Skip("service and load generator need a processor each, 0 and 1".to_owned()))
}

/// `postgres://USER@HOST:PORT/NAME` as Java writes it.
fn jdbc(url: &str) -> String {
    let rest = url.trim_start_matches("postgres://");
    let (user, place) = rest.split_once('@').unwrap_or(("postgres", rest));
    format!("jdbc:postgresql://{place}?user={user}")
}
