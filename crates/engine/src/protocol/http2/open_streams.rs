//! The streams of a connection that wait for their answers.

use super::grpc::GrpcStatus;
use crate::content::Content;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// One stream.
#[derive(Default)]
pub(super) struct OpenStream {
    pub exchange: u32,
    /// Whether the request was HEAD.
    pub head_only: bool,
    /// What headers and body are kept in, if they are wanted.
    pub content: Option<Box<Content>>,
    /// Whether any part of the answer has come.
    pub heard: bool,
    /// Of the head of the answer, once that has come.
    pub status: Option<u16>,
    /// How the call ended, if this is one of gRPC.
    pub call: Option<GrpcStatus>,
    /// How long the body of the answer is, if its head says so.
    pub expected: Option<u64>,
    pub received: u64,
    /// Bytes received that the server has not been given back for the stream's window.
    pub taken: u32,
    /// Bytes of the body that may be sent; less than none after the server has thought better of it.
    pub window: i64,
    /// The body of the request, and how much of it is sent, while there is more.
    pub body: Option<(Arc<Vec<u8>>, usize)>,
    /// Whether the stream is among those that upload.
    pub queued: bool,
}

impl OpenStream {
    pub fn new(exchange: u32, head_only: bool, content: bool, window: i64) -> Self {
        Self { exchange, head_only, content: content.then(Box::default), window, ..Self::default() }
    }
}

/// The streams by their numbers.
#[derive(Default)]
pub(super) struct OpenStreams(HashMap<u32, OpenStream, BuildHasherDefault<StreamIdHasher>>);

impl OpenStreams {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn insert(&mut self, stream: u32, open: OpenStream) {
        self.0.insert(stream, open);
    }

    pub fn get(&mut self, stream: u32) -> Option<&mut OpenStream> {
        self.0.get_mut(&stream)
    }

    pub fn remove(&mut self, stream: u32) -> Option<OpenStream> {
        self.0.remove(&stream)
    }

    /// Takes out those with a higher number.
    pub fn above(&mut self, last: u32) -> impl Iterator<Item = OpenStream> {
        self.0.extract_if(move |stream, _| *stream > last).map(|(_, open)| open)
    }

    /// The stream of an exchange: looks at all of them, as only those that give up do.
    pub fn find(&self, exchange: u32) -> Option<u32> {
        self.0.iter().find(|(_, open)| open.exchange == exchange).map(|(stream, _)| *stream)
    }

    pub fn iter(&self) -> impl Iterator<Item = &OpenStream> {
        self.0.values()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut OpenStream)> {
        self.0.iter_mut().map(|(stream, open)| (*stream, open))
    }
}

/// Spreads numbers that we gave ourselves: nobody can choose them to collide.
#[derive(Default)]
struct StreamIdHasher(u64);

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
