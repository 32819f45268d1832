//! Open-loop load: schedule to requests to recorder.
