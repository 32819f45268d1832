//! Workers as pods of a Kubernetes cluster: the objects of a run, made and removed by the user's own `kubectl`, as a child; and the image that
//! they run.
//!
//! What torment may do there is what its user may do, and every way of signing in works. It knows no client of Kubernetes, keeps nothing, and
//! no pod of it speaks with the cluster. It offers no load and knows no plan.

mod cleanup;
mod ephemeral_containers;
mod error;
mod image;
mod kubectl;
mod manifests;
mod permissions;
mod pods;
mod port_forward;
mod run_pods;
mod site;

pub use error::Error;
pub use image::{ImageSpec, write_image};
pub use port_forward::PortForward;
pub use run_pods::{RunPods, new_id};

pub use cleanup::run_cleanup;
pub use manifests::{JoinFiles, OWNER_PORT, WORKERS_PORT};
pub use site::{PodOptions, PodSite, TargetPod};
