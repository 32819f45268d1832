//! Everything a case needs, started in order, and stopped in reverse order when dropped.

use crate::CaseError;
use crate::case::{CaseService as Kind, FaultCase, NeighbourPlacement};
use crate::client;
use crate::cpu_burner::CpuBurner;
use crate::group::CaseGroup;
use crate::java;
use crate::network_namespace::{self, NetworkNamespace};
use crate::postgres::CasePostgres;
use crate::target_process::{limit_descriptors, start, start_target};
use runner::{ServiceProcess, StopFlag};
use std::net::{SocketAddr, TcpStream};

/// The processors of cases that need two, one for each side.
const SERVICE_CORE: u32 = 1;
const GENERATOR_CORE: u32 = 0;

/// What was started. Fields are in the order in which they are dropped: a group can only
/// be removed after its processes.
pub(crate) struct Environment {
    _held: Vec<TcpStream>,
    pub(crate) neighbour: Option<CpuBurner>,
    pub(crate) service: ServiceProcess,
    downstream: Option<ServiceProcess>,
    pub(crate) postgres: Option<CasePostgres>,
    _groups: Vec<CaseGroup>,
    _namespace: Option<NetworkNamespace>,
    /// Processors of the load generator; empty: all.
    pub(crate) generator_cores: Vec<u32>,
}

impl Environment {
    pub(crate) fn start(case: &FaultCase, stop: &StopFlag) -> Result<Self, CaseError> {
        let spec = &case.environment;
        let mut groups = Vec::new();
        let namespace = spec.ports.map(NetworkNamespace::enter).transpose()?;
        let postgres = spec.postgres.map(|asked| CasePostgres::start(asked.settings, stop)).transpose()?;
        let downstream = spec.downstream.map(|options| start_target(options, |_| Ok(()))).transpose()?;
        let group = spec.limits.need_group().then(|| CaseGroup::make(&spec.limits)).transpose()?;
        let on_start = |pid| {
            if let Some(group) = &group {
                group.add(pid)?;
            }
            spec.limits.descriptors.map_or(Ok(()), |most| limit_descriptors(pid, most))
        };
        let (mut generator_cores, mut burner_core) = (Vec::new(), None);
        let service = match &case.service {
            Kind::Target(options) => {
                let core = SERVICE_CORE.to_string();
                let mut options = options.to_vec();
                if let Some(server) = &postgres {
                    options.extend(["--database", &server.url]);
                }
                if spec.neighbour != NeighbourPlacement::None {
                    check_processors()?;
                    options.extend(["--cores", &core]);
                    generator_cores = vec![GENERATOR_CORE];
                    burner_core = Some(match spec.neighbour {
                        NeighbourPlacement::WithGenerator => GENERATOR_CORE,
                        _ => SERVICE_CORE,
                    });
                }
                start_target(&options, on_start)?
            }
            Kind::Java { release, options, workers, pool, virtual_threads } => {
                let mut command = java::command(*release, options)?;
                command.env("PORT", "0").env("WORKERS", workers.to_string()).env("POOL", pool.to_string());
                command.env("VIRTUAL", virtual_threads.to_string());
                if let Some(server) = &postgres {
                    command.env("DATABASE_URL", jdbc_url(&server.url));
                }
                start(&mut command, on_start)?
            }
        };
        groups.extend(group);
        if let (Some(server), Some(postgres_spec)) = (&postgres, spec.postgres) {
            if let Some(page) = postgres_spec.warm_up_page {
                client::get(service.address, page).map_err(CaseError::Fail)?;
                server.drop_cached_pages().map_err(CaseError::fail("the database's files"))?;
            }
            if postgres_spec.limits.need_group() {
                let group = CaseGroup::make(&postgres_spec.limits)?;
                postgres_pids(server.pid).into_iter().try_for_each(|pid| group.add(pid))?;
                groups.push(group);
            }
        }
        let neighbour = burner_core
            .map(|core| CpuBurner::start(core, spec.neighbour == NeighbourPlacement::WithGenerator))
            .transpose()?;
        let held =
            spec.ports.map(|ports| network_namespace::hold_ports(service.address, ports.held)).transpose()?;
        Ok(Self {
            _held: held.unwrap_or_default(),
            neighbour,
            service,
            downstream,
            postgres,
            _groups: groups,
            _namespace: namespace,
            generator_cores,
        })
    }

    /// Fills in a page's placeholders.
    pub(crate) fn page(&self, page: &str) -> String {
        let address = self.downstream.as_ref().map(|service| service.address.to_string());
        page.replace("{downstream}", &address.unwrap_or_default())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.service.address
    }
}

/// A PostgreSQL server and its children: existing ones, and through the server future ones.
fn postgres_pids(server: u32) -> Vec<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
    std::iter::once(server).chain(children).collect()
}

fn check_processors() -> Result<(), CaseError> {
    let allowed = rustix::thread::sched_getaffinity(None).map_err(CaseError::fail("our processors"))?;
    if [GENERATOR_CORE, SERVICE_CORE].iter().all(|core| allowed.is_set(*core as usize)) {
        return Ok(());
    }
    Err(CaseError::Skip("service and load generator need a processor each, 0 and 1".to_owned()))
}

/// `postgres://USER@HOST:PORT/NAME` as a JDBC URL.
fn jdbc_url(url: &str) -> String {
    let rest = url.trim_start_matches("postgres://");
    let (user, place) = rest.split_once('@').unwrap_or(("postgres", rest));
    format!("jdbc:postgresql://{place}?user={user}")
}
