//! Workers as pods of a Kubernetes cluster: a run's objects, created and removed through the user's own `kubectl`, as a
//! child; and the image the pods run.
//!
//! torment has its user's permissions there, and every way of signing in works. No Kubernetes client, no state, and its
//! pods never talk to the cluster. It makes no load and knows no plan.

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
