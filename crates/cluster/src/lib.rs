//! Workers as pods of a Kubernetes cluster: the objects of a run, made and removed by the user's own `kubectl`, as a child; and the image that
//! they run.
//!
//! What torment may do there is what its user may do, and every way of signing in works. It knows no client of Kubernetes, keeps nothing, and
//! no pod of it speaks with the cluster. It offers no load and knows no plan.

mod can;
mod error;
mod forward;
mod image;
mod inside;
mod kubectl;
mod objects;
mod pods;
mod site;
mod sweep;
mod workforce;

pub use error::Error;
pub use forward::Forward;
pub use image::{ImageMark, write_image};
pub use workforce::{Workforce, new_id};

pub use objects::{OWNER_PORT, Passes, WORKERS_PORT};
pub use site::{PodSite, PodsWanted, TargetPod};
pub use sweep::sweep;
