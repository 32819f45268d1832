//! Events to words, tables and series; no colour, no widget.
