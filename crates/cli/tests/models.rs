//! Our own models, through every row of the driver's table, by the command that users have.

use std::path::Path;
use std::process::Command;

#[test]
fn models_meet_the_expectations_in_their_headers_on_every_row() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let output = Command::new(env!("CARGO_BIN_EXE_ergodic"))
        .args(["test", "--all-rows"])
        .arg(models)
        .output()
        .expect("ergodic runs");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "some model failed:\n{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.ends_with(", 0 failed"), "every model has an expectation: {last}");
    let passed: u32 = last.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    assert!(passed >= 20, "the models are gone: {last}");
}
