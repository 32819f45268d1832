//! What it costs to get bytes from one process to another.

mod explain;
mod framing;
mod messages;
mod shared_memory;
mod stream;

use crate::block::{BlockResult, FigureName, Measurable};
use crate::sides::Placement;
use record::{Figure, FigureUnit};
use serde::{Deserialize, Serialize};
use std::io;
use units::Bytes;

units::named! {
    /// How bytes travel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Transport {
        /// TCP over loopback, with TCP_NODELAY.
        Tcp = "TCP",
        /// A connected Unix stream socket with an abstract name.
        Unix = "Unix socket",
        /// A pair of unnamed Unix stream sockets.
        Socketpair = "socketpair",
        /// A pipe in each direction.
        Pipe = "pipe",
        /// Shared memory, sleeping on a futex.
        SharedAsleep = "shared memory, futex",
        /// Shared memory, busy-polling.
        SharedBusy = "shared memory, busy",
    }
}

units::named! {
    /// Framing of a message.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum MessageFraming {
        /// Length-prefixed.
        Rpc = "length-prefixed RPC",
        /// HTTP/1.1 heads, on a keep-alive connection.
        Http = "HTTP/1.1",
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Message sizes echoed: a small one, that of the usual comparisons, a page, and what fills a pipe.
const ECHO_SIZES: [Bytes; 4] = [Bytes(64), FRAMED_SIZE, Bytes(4 * KIB), Bytes(64 * KIB)];
/// Payload of a framed message.
const FRAMED_SIZE: Bytes = Bytes(128);
/// Message sizes sent one way.
const THROUGHPUT_SIZES: [Bytes; 6] =
    [Bytes(64), Bytes(4 * KIB), Bytes(64 * KIB), Bytes(512 * KIB), Bytes(8 * MIB), Bytes(32 * MIB)];
/// Buffer sizes tried besides the default, and the messages they are tried with.
const BUFFERS: [Bytes; 2] = [Bytes(256 * KIB), Bytes(MIB)];
const BUFFERED_SIZES: [Bytes; 2] = [Bytes(64 * KIB), Bytes(512 * KIB)];
/// From this size on, blocks are few and have few messages.
const LARGE: Bytes = Bytes(8 * MIB);
const LARGE_LEAST: u64 = 8;
const LARGE_BLOCKS: u32 = 8;
const MIN_OPERATIONS: u64 = 64;

/// One IPC measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpcProbe {
    /// A message of this size, there and back.
    Latency(Transport, Bytes, Placement),
    /// A framed message, there and back.
    Framed(MessageFraming, Transport, Placement),
    /// One-way messages of this size, with default or given buffers.
    Throughput(Transport, Bytes, Option<Bytes>),
}

fn latency_row(transport: Transport) -> String {
    format!("{}, one way", transport.name())
}

fn framed_row(framing: MessageFraming, transport: Transport) -> String {
    format!("{} over {}, one way", framing.name(), transport.name())
}

fn throughput_row(transport: Transport) -> String {
    format!("{}, throughput", transport.name())
}

fn placement_column(size: Bytes, place: Placement) -> String {
    format!("{size}, {}", place.name())
}

fn buffer_column(size: Bytes, buffer: Option<Bytes>) -> String {
    buffer.map_or_else(|| size.to_string(), |buffer| format!("{size}, buffer {buffer}"))
}

impl IpcProbe {
    fn is_large(self) -> bool {
        matches!(self, Self::Throughput(_, size, _) if size >= LARGE)
    }
}

impl Measurable for IpcProbe {
    fn figures(&self) -> Vec<FigureName> {
        let (row, column, unit) = match *self {
            Self::Latency(transport, size, place) => {
                (latency_row(transport), placement_column(size, place), FigureUnit::Nanos)
            }
            Self::Framed(framing, transport, place) => {
                (framed_row(framing, transport), placement_column(FRAMED_SIZE, place), FigureUnit::Nanos)
            }
            Self::Throughput(transport, size, buffer) => {
                (throughput_row(transport), buffer_column(size, buffer), FigureUnit::BytesPerSecond)
            }
        };
        vec![FigureName { row, column, unit }]
    }

    fn measure_block(&self, operations: u64) -> io::Result<BlockResult> {
        match *self {
            Self::Latency(transport, size, place) => messages::latency(transport, size, place, operations),
            Self::Framed(framing, transport, place) => {
                messages::framed(framing, transport, FRAMED_SIZE, place, operations)
            }
            Self::Throughput(transport, size, buffer) => {
                messages::throughput(transport, size, buffer, operations)
            }
        }
    }

    fn min_operations(&self) -> u64 {
        if self.is_large() { LARGE_LEAST } else { MIN_OPERATIONS }
    }

    fn max_blocks(&self) -> Option<u32> {
        self.is_large().then_some(LARGE_BLOCKS)
    }
}

/// The table `ipc`.
pub struct IpcTable;

impl IpcTable {
    /// Its probes, in display order.
    pub(crate) fn probes(&self) -> Vec<IpcProbe> {
        let possible = Placement::possible();
        let places: Vec<Placement> = possible.into_iter().filter(|place| *place != Placement::Free).collect();
        let mut all = Vec::new();
        for transport in Transport::ALL {
            for size in ECHO_SIZES {
                // On one processor, busy-polling only keeps the other side from running.
                let useful =
                    |place: &Placement| transport != Transport::SharedBusy || *place == Placement::Two;
                let useful = places.iter().copied().filter(useful);
                all.extend(useful.map(|place| IpcProbe::Latency(transport, size, place)));
            }
        }
        for framing in [MessageFraming::Rpc, MessageFraming::Http] {
            for transport in [Transport::Tcp, Transport::Unix] {
                all.extend(places.iter().map(|place| IpcProbe::Framed(framing, transport, *place)));
            }
        }
        if places.contains(&Placement::Two) {
            for transport in Transport::ALL {
                all.extend(THROUGHPUT_SIZES.map(|size| IpcProbe::Throughput(transport, size, None)));
            }
            for transport in [Transport::Unix, Transport::Pipe] {
                let swept = BUFFERED_SIZES.into_iter().flat_map(|size| BUFFERS.map(|buffer| (size, buffer)));
                all.extend(swept.map(|(size, buffer)| IpcProbe::Throughput(transport, size, Some(buffer))));
            }
        }
        all
    }

    pub(crate) fn explain(&self, figures: &mut [Figure]) -> Vec<String> {
        explain::explain(figures)
    }
}
