//! Random bytes.

use super::super::Phase;
use super::super::control::CompletionSink;
use super::super::frame::kind;
use super::by_hand::frame;
use super::*;
use proptest::prelude::*;

/// Whatever the bytes and pieces, there is no panic, and every exchange is reported exactly once.
fn survives(bytes: &[u8], step: usize) {
    let mut connection = Http2::new(100);
    connection.phase = Phase::Ready;
    let mut requests =
        [get("/"), request("HEAD", "/", &[], Vec::new()), request("PUT", "/", &[], vec![0; 100_000])];
    let context = RenderContext { number: 0, seed: 0, extracted: &[] };
    for exchange in 0..12 {
        connection.send(&mut requests[exchange % 3], &context, b"", exchange as u32, exchange % 2 == 0);
    }
    let mut completions = Vec::new();
    for piece in bytes.chunks(step) {
        connection.upload();
        if connection
            .handle_bytes(piece, CompletionSink { completions: &mut completions, received_ns: 1 })
            .is_err()
        {
            break;
        }
    }
    let mut all: Vec<u32> = completions.iter().map(|completion| completion.exchange).collect();
    connection.each_open(&mut |exchange, _| all.push(exchange));
    all.sort_unstable();
    assert_eq!(all, (0..12).collect::<Vec<_>>());
}

/// Well-formed frames of any kind, mostly on existing streams.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let block = prop_oneof![
        Just(b"\x88".to_vec()),
        Just(b"\x48\x03103".to_vec()),
        Just(b"\x88\x40\x01a\x01b\xbe\x7e\x01c\x0f\x0d\x015".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    (0_u8..12, any::<u8>(), 0_u32..26, block).prop_map(|(kind, flags, stream, payload)| {
        let stream = if matches!(kind, kind::SETTINGS | kind::PING | kind::GOAWAY) { 0 } else { stream };
        let payload = match kind {
            kind::PING => vec![1; 8],
            kind::RST_STREAM | kind::WINDOW_UPDATE => [payload, vec![1; 4]].concat()[..4].to_vec(),
            kind::SETTINGS => vec![0; payload.len() / 6 * 6],
            _ => payload,
        };
        frame(kind, flags, stream, &payload)
    })
}

proptest! {
    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), step in 1_usize..50) {
        survives(&bytes, step);
    }

    #[test]
    fn frames_of_any_kind_never_panic(frames in proptest::collection::vec(any_frame(), 0..30), step in 1_usize..500) {
        survives(&frames.concat(), step);
    }
}
