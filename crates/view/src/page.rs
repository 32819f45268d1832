//! A run as a page: texts in order of importance, with charts, as a [`Document`](crate::document::Document).

mod builder;
mod chart_filter;
mod conclusions;
mod distribution;
mod downsample;
mod front;
mod heatmap;
mod load_columns;
pub(crate) mod pictures;
mod request_path;
mod rerun;
mod response_advice;
mod rows;
mod sections;
mod status;
mod target_columns;
mod to_document;
mod top_names;

pub use builder::PageBuilder;
pub use status::{StackPart, ThreadGroupStatus, TreeStatus};
