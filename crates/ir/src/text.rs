//! The text form of programs: a reader and a printer.
