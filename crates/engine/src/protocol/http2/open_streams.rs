//! The streams of a connection that wait for their answers.

use super::grpc::GrpcStatus;
use crate::content::Content;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct OpenStream {
    pub exchange: u32,
    /// Whether the request was HEAD.
    pub head_only: bool,
    /// Keeps headers and body, if they are wanted.
    pub content: Option<Box<Content>>,
    /// Whether any part of the answer has arrived.
    pub answer_begun: bool,
    /// The answer's status, once its head has arrived.
    pub status: Option<u16>,
    /// How the call ended, if it is gRPC.
    pub grpc_status: Option<GrpcStatus>,
    /// The length of the answer's body, if its head says so.
    pub expected: Option<u64>,
    pub received: u64,
    /// Bytes received but not yet returned to the stream's window.
    pub unacknowledged: u32,
    /// Bytes of the body that may be sent; negative after the server has reduced its window.
    pub window: i64,
    /// The request's body, and how much of it is sent, while there is more.
    pub body: Option<(Arc<Vec<u8>>, usize)>,
    /// Whether the stream is queued for upload.
    pub upload_queued: bool,
}

impl OpenStream {
    pub fn new(exchange: u32, head_only: bool, content: bool, window: i64) -> Self {
        Self { exchange, head_only, content: content.then(Box::default), window, ..Self::default() }
    }
}

/// The streams by number.
pub(super) type OpenStreams = HashMap<u32, OpenStream, BuildHasherDefault<StreamIdHasher>>;

/// Hashes our own stream numbers: nobody can choose them to collide.
#[derive(Default)]
pub(super) struct StreamIdHasher(u64);

impl Hasher for StreamIdHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers of four bytes");
    }
    fn write_u32(&mut self, number: u32) {
        // The golden ratio's fraction: D. E. Knuth, The Art of Computer Programming, volume 3, section 6.4.
        self.0 = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
