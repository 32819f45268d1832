//! Request bodies: sent as far as the server's windows allow, streams taking turns.

use super::Http2;
use super::frame::{self, ConnectionError, ErrorCode, Frame, MAX_U31, flag, kind};

/// Bytes that may wait to be written before more body data is appended.
const AHEAD: usize = 256 * 1024;

impl Http2 {
    /// Appends what may be sent now.
    pub(super) fn upload(&mut self) {
        while self.window > 0 && self.out.bytes.len() < AHEAD {
            let Some(stream) = self.uploads.pop_front() else { return };
            let Some(open) = self.open.get_mut(&stream) else { continue };
            let Some((body, sent)) = &mut open.body else { continue };
            let rest = &body[*sent..];
            let most = rest.len().min(self.peer.max_payload);
            let length = most.min(usize::try_from(self.window.min(open.window)).unwrap_or(0));
            if length == 0 {
                // It is queued again when its window grows.
                open.upload_queued = false;
                continue;
            }
            let last = length == rest.len();
            let flags = if last { flag::END_STREAM } else { 0 };
            frame::put_header(length, kind::DATA, flags, stream, &mut self.out.bytes);
            self.out.bytes.extend_from_slice(&rest[..length]);
            *sent += length;
            open.window -= length as i64;
            self.window -= length as i64;
            if last {
                open.body = None;
                open.upload_queued = false;
            } else {
                self.uploads.push_back(stream);
            }
        }
    }

    /// WINDOW_UPDATE: more room, on a stream or on the connection.
    pub(super) fn handle_window_update(&mut self, frame: Frame<'_>) -> Result<(), ConnectionError> {
        let more = i64::from(frame.number("WINDOW_UPDATE")? & MAX_U31);
        if more == 0 {
            return Err(ConnectionError::protocol("a window made larger by nothing"));
        }
        let window = if frame.stream == 0 {
            &mut self.window
        } else {
            // It may name a stream that is already over.
            let Some(open) = self.open.get_mut(&frame.stream) else { return Ok(()) };
            if open.body.is_some() && !open.upload_queued {
                open.upload_queued = true;
                self.uploads.push_back(frame.stream);
            }
            &mut open.window
        };
        *window += more;
        if *window > i64::from(MAX_U31) {
            return Err(window_overflow());
        }
        self.flush_now |= !self.uploads.is_empty();
        Ok(())
    }

    /// The server changes the initial window of all streams, open ones included.
    pub(super) fn set_initial_window(&mut self, window: u32) -> Result<(), ConnectionError> {
        if window > MAX_U31 {
            return Err(window_overflow());
        }
        let change = i64::from(window) - i64::from(self.peer.initial_window);
        self.peer.initial_window = window;
        for (stream, open) in &mut self.open {
            open.window += change;
            if open.window > i64::from(MAX_U31) {
                return Err(window_overflow());
            }
            if open.window > 0 && open.body.is_some() && !open.upload_queued {
                open.upload_queued = true;
                self.uploads.push_back(*stream);
            }
        }
        self.flush_now |= !self.uploads.is_empty();
        Ok(())
    }
}

pub(super) fn window_overflow() -> ConnectionError {
    ConnectionError::new(ErrorCode::FLOW_CONTROL_ERROR, "an oversized window")
}
