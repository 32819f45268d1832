//! A fault case.

use record::Cause;
use std::time::Duration;

/// One fault: how to cause it, and the expected verdict.
#[derive(Debug, Clone)]
pub struct FaultCase {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is broken, in a few words.
    pub fault: &'static str,
    /// The expected verdict.
    pub expected: ExpectedCause,
    /// Why exactly that, where it is not obvious: the numbers.
    pub why: &'static str,
    pub(crate) service: CaseService,
    /// Paths at the service; each request takes one of them, all equally often.
    pub(crate) pages: Vec<&'static str>,
    pub(crate) environment: EnvironmentSpec,
    pub(crate) load: CaseLoad,
}

/// The truth about a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedCause {
    /// This gives first.
    First {
        /// The cause.
        cause: Cause,
        /// Acceptable causes: they describe the same from another side.
        also: &'static [Cause],
    },
    /// Nothing is wrong.
    Nothing,
}

/// The service under load.
#[derive(Debug, Clone)]
pub(crate) enum CaseService {
    /// This program, as `torment target` with these options.
    Target(&'static [&'static str]),
    /// Tomcat with HikariCP on a JDK of this release.
    Java { release: u32, options: &'static [&'static str], workers: u32, pool: u32, virtual_threads: bool },
}

/// The service's environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct EnvironmentSpec {
    /// A PostgreSQL of its own.
    pub postgres: Option<PostgresSpec>,
    /// A service called by the first one: this program with these options. Its address replaces
    /// `{downstream}` in pages.
    pub downstream: Option<&'static [&'static str]>,
    /// Limits of the service.
    pub limits: ServiceLimits,
    /// A neighbour that uses processors once the calm part is over.
    pub neighbour: NeighbourPlacement,
    /// A network namespace with this many local ports, some of which are taken.
    pub ports: Option<LocalPorts>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PostgresSpec {
    pub settings: &'static [&'static str],
    /// Limits of its sessions.
    pub limits: ServiceLimits,
    /// A page requested before they apply.
    pub warm_up_page: Option<&'static str>,
}

/// Resource limits of the service; none: unlimited.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServiceLimits {
    /// Processors, as a quota.
    pub cpus: Option<f64>,
    pub memory_mib: Option<u64>,
    /// Threads and processes.
    pub tasks: Option<u64>,
    /// Reads and writes per second on the disk of the temporary folder.
    pub reads: Option<u64>,
    pub writes: Option<u64>,
    pub descriptors: Option<u64>,
}

impl ServiceLimits {
    /// Whether any of them needs a control group.
    pub(crate) fn need_group(&self) -> bool {
        let counts = [self.memory_mib, self.tasks, self.reads, self.writes];
        self.cpus.is_some() || counts.iter().any(Option::is_some)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NeighbourPlacement {
    #[default]
    None,
    /// On the service's only processor.
    WithService,
    /// On the load generator's only processor.
    WithGenerator,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalPorts {
    pub range: u32,
    pub held: u32,
}

/// The load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CaseLoad {
    pub capacity: CaseCapacity,
    /// Rates as shares of the capacity: first well below it, then above it.
    pub base_load: f64,
    pub overload: f64,
    pub base_time: Duration,
    pub overload_time: Duration,
    /// An unobserved closed loop first: a JVM compiles, and the capacity shows.
    pub warm_up: Duration,
    /// Whether each page is requested once before anything is measured.
    pub probe_pages: bool,
    pub timeout: Duration,
    /// Random instead of even arrivals.
    pub poisson: bool,
    /// A new connection for each request.
    pub close_connections: bool,
}

/// The case's capacity, from its numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CaseCapacity {
    /// Requests per second, exactly or nearly.
    Known(f64),
    /// Requests per second and processor.
    PerCpu(f64),
    /// Unknown: what a closed loop reaches in the warm-up.
    Measured,
}

impl CaseLoad {
    /// Three seconds at a quarter of the capacity, six at almost one and a half of it.
    pub(crate) const fn around(capacity: CaseCapacity) -> Self {
        Self {
            capacity,
            base_load: 0.25,
            overload: 1.4,
            base_time: Duration::from_secs(3),
            overload_time: Duration::from_secs(6),
            warm_up: match capacity {
                CaseCapacity::Measured => Duration::from_secs(2),
                _ => Duration::ZERO,
            },
            probe_pages: true,
            timeout: Duration::from_secs(2),
            poisson: false,
            close_connections: false,
        }
    }
}

impl FaultCase {
    /// A case of our own service, in which this is broken.
    pub(crate) fn new(name: &'static str, fault: &'static str) -> Self {
        Self {
            name,
            fault,
            expected: ExpectedCause::Nothing,
            why: "",
            service: CaseService::Target(&[]),
            pages: Vec::new(),
            environment: EnvironmentSpec::default(),
            load: CaseLoad::around(CaseCapacity::Measured),
        }
    }

    /// Options of our own service.
    pub(crate) fn target_options(self, options: &'static [&'static str]) -> Self {
        self.service(CaseService::Target(options))
    }

    pub(crate) fn service(mut self, service: CaseService) -> Self {
        self.service = service;
        self
    }

    /// The page requested, and the load.
    pub(crate) fn load(mut self, page: &'static str, load: CaseLoad) -> Self {
        self.load = load;
        self.and_page(page)
    }

    /// The true cause, and acceptable ones.
    pub(crate) fn expect(mut self, cause: Cause, also: &'static [Cause]) -> Self {
        self.expected = ExpectedCause::First { cause, also };
        self
    }

    pub(crate) fn because(mut self, why: &'static str) -> Self {
        self.why = why;
        self
    }

    pub(crate) fn and_page(mut self, page: &'static str) -> Self {
        self.pages.push(page);
        self
    }

    pub(crate) fn limits(mut self, limits: ServiceLimits) -> Self {
        self.environment.limits = limits;
        self
    }

    pub(crate) fn neighbour(mut self, neighbour: NeighbourPlacement) -> Self {
        self.environment.neighbour = neighbour;
        self
    }

    pub(crate) fn ports(mut self, ports: LocalPorts) -> Self {
        self.environment.ports = Some(ports);
        self
    }

    /// A PostgreSQL with these settings.
    pub(crate) fn postgres(self, settings: &'static [&'static str]) -> Self {
        self.database(PostgresSpec { settings, limits: ServiceLimits::default(), warm_up_page: None })
    }

    pub(crate) fn database(mut self, postgres: PostgresSpec) -> Self {
        self.environment.postgres = Some(postgres);
        self
    }

    pub(crate) fn downstream(mut self, options: &'static [&'static str]) -> Self {
        self.environment.downstream = Some(options);
        self
    }
}
