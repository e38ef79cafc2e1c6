//! Sources, spans and diagnostics: how every front end says what is wrong, and where.
//!
//! A front end registers each text it reads in [`Sources`], marks positions with [`Span`] (byte
//! offsets into one source) and collects [`Diagnostic`] values in [`Diagnostics`]. Nothing here
//! prints: [`render()`] turns a diagnostic into text, and the caller decides where the text goes.
//!
//! Invariants:
//! - Spans are plain numbers. A span that does not fit its source (stale, or cut inside a character)
//!   is clamped when it is rendered; it never causes a panic.
//! - Diagnostics are data. No message depends on process-wide state, so checks can run side by side.

mod diagnostic;
mod read;
mod render;
mod source;

pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use read::{MAX_SOURCE_BYTES, read_source};
pub use render::render;
pub use source::{SourceId, Sources, Span};
