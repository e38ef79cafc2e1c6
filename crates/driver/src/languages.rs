//! The languages: one line each.

use ergodic_ir::FrontEnd;
use std::path::Path;

/// All front ends.
pub const ALL: &[&dyn FrontEnd] = &[&ergodic_murphi::Murphi];

/// The front end for a file, by the ending of its name.
pub fn of(name: &str) -> Option<&'static dyn FrontEnd> {
    let ending = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
    ALL.iter().copied().find(|language| language.endings().contains(&ending.as_str()))
}
