//! The whole program against a fake `ergodic`: a script that knows a few answers.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Answers a check by its strategy; fails for one model.
const SCRIPT: &str = r#"#!/bin/sh
case "$*" in
  --version) echo "ergodic fake"; exit 0;;
  *list6.m*) echo "list6 is broken" >&2; exit 3;;
esac
check() { # verdict states depth seconds rate
  echo "{\"verdict\": \"$1\", \"reason\": null, \"states\": $2, \"transitions\": 94544, \"depth\": $3,
    \"max_frontier\": 925, \"state_bits\": 69, \"seconds\": $4, \"omission_bound\": null,
    \"figures\": {\"collision_rate\": $5}, \"peak_memory_bytes\": 1}"
}
team() { # seconds
  echo "{\"verdict\": \"holds\", \"states\": 1000, \"transitions\": 4000, \"seconds\": $1, \"state_bits\": 64,
    \"levels\": [1, 2], \"figures\": {\"batches\": 10, \"claimed\": 2000, \"wire_bytes_per_claim\": 15,
    \"wire_bytes_per_state\": 50, \"passed_states\": 500}}"
}
case "$*" in
  *models/bench*"--workers 1 "*) team 12.5;;
  *models/bench*"--workers 2 "*) team 5;;
  *models/bench*) team 10;;
  *"--strategy ram"*) check holds 23636 69 0.1 0;;
  *"--ways 1"*) check incomplete 118180 50 0.5 0.91;;
  *"--ways 64"*) check holds 25999 75 0.11 0.45;;
  *"--strategy cached"*"--memory 22"*) check holds 24817 70 0.12 0.05;;
  *"--strategy cached"*"--memory"*) check holds 23636 69 0.12 0.01;;
  *"--strategy dbf"*) check holds 30000 69 0.4 0;;
  *"--strategy serial"*) check holds 27000 69 0.3 0;;
  *"--sleep off"*"--cache"*) check incomplete 300000 69 4 0;;
  *"--search sleep-dfs"*) check holds 23636 69 0.1 0;;
  *"--strategy sorted"*) check holds 23636 69 0.15 0;;
  *) echo "what?" >&2; exit 3;;
esac
"#;

/// A directory of our own, removed in the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn scratch(name: &str) -> Result<Scratch, std::io::Error> {
    let path = std::env::temp_dir().join(format!("papers-{name}-{}", std::process::id()));
    std::fs::create_dir_all(path.join("models/sym"))?;
    for model in ["mcslock1.m", "list6.m"] {
        std::fs::write(path.join("models/sym").join(model), "-- a model\n")?;
    }
    let script = path.join("ergodic");
    std::fs::write(&script, SCRIPT)?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    Ok(Scratch(path))
}

fn papers(at: &Path, args: &[&str]) -> Result<std::process::Output, std::io::Error> {
    Command::new(env!("CARGO_BIN_EXE_papers"))
        .arg("--models")
        .arg(at.join("models"))
        .arg("--ergodic")
        .arg(at.join("ergodic"))
        .arg("--out")
        .arg(at.join("out"))
        .args(args)
        .output()
}

#[test]
fn the_report_puts_the_papers_beside_ours() -> Result<(), std::io::Error> {
    let scratch = scratch("report")?;
    let only = ["fig5", "serial", "sorted", "cached-fig4", "table1"];
    let only: Vec<&str> = only.iter().flat_map(|one| ["--only", one]).collect();
    let out = papers(&scratch.0, &[&["--quick"], &only[..]].concat())?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(scratch.0.join("out/papers.md"))?;
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        // Fig. 4: paper, ours, ratio.
        "| mcslock1 | 12 | 12 | 23,644 | 23,636 | 0.9997 |",
        // Fig. 5 at 0.6: states of the paper, one way (stopped), 64 ways, so many bytes (0.6 of 373 KB), ratio.
        "| mcslock1 | 1.900 | 5.000∞ | 1.100 | 1.050 | 0.55 |",
        // Serial against disk.
        "| mcslock1 | time | 0.837 | 0.750 | 0.90 |",
        // Sorted.
        "| sym/mcslock1.m | holds | 23,636 | 23,636 | counts |",
        // Table 1 of hash compaction needs no runs.
        "35 of 35 equal",
        // What is missing, and what fails, is said.
        "| adash | sym/adash.m is not there |",
        "failed (exit status: 3): list6 is broken",
        "| kerb | not available |",
    ] {
        assert!(squeezed.contains(expected), "{expected}\n{text}");
    }
    let page = std::fs::read_to_string(scratch.0.join("out/papers.html"))?;
    assert!(page.contains("<svg") && page.ends_with("</html>\n"));
    Ok(())
}

#[test]
fn sleep_sets_are_compared_with_the_paper() -> Result<(), std::io::Error> {
    let scratch = scratch("sleep")?;
    let out = papers(&scratch.0, &["--quick", "--only", "sleep"])?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(scratch.0.join("out/papers.md"))?;
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        // Table 1: our model, theirs, states of both.
        "| file-transfer | PFTP | 409,257 | 23,636 |",
        // Table 2: matched per state of the paper.
        "| data-transfer | Algorithm 2 | 23,636 | 0 | 0.04 |",
        "equal on 4 models",
        // Fig. 4: what was stopped is said, and nothing is tried after that.
        "| 23,636 | 100.0 % | **> 1.00** (stopped after 4.00 s) | 1.00 (100.0 ms) |",
        "| 500 | 2.1 % | not tried | 1.00 (100.0 ms) |",
        // Fig. 5.
        "file-transfer: random 500, by kind of step 500, smallest subtree 500",
        // None of these is large enough.
        "| **missed** |",
    ] {
        assert!(squeezed.contains(expected), "{expected}\n{text}");
    }
    Ok(())
}

#[test]
fn idle_computers_are_compared_with_the_paper() -> Result<(), std::io::Error> {
    let scratch = scratch("idle")?;
    // The classic models are not needed.
    let args = ["--models", "/nowhere/at/all", "--quick", "--workers", "2"];
    let out = papers(&scratch.0, &[&args[..], &["--only", "idle", "--only", "scale"]].concat())?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read_to_string(scratch.0.join("out/papers.md"))?;
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        // Table 2: times, efficiencies and their ratio, gains.
        "| directory | 1 | 261.00 s | 12.50 s | 99 % | 80 % | 0.81 | 0.99 | 0.80 |",
        "| directory | 2 | 132.00 s | 5.00 s | 98 % | 100 % | 1.02 | 1.95 | 2.00 |",
        // Table 4.
        "| data-base, 9 nodes | 1 | 25.02 s | 12.50 s | 83 % | 80 % |",
        // Fig. 1: firing inside of a chain makes no arc.
        "| ours: data-link, all | 1,000 | 4,000 | 4.00 | 1,000 | 3,500 | 3.50 |",
        // Bytes on the wire, and the goal.
        "| directory | signatures | 8 | 15.0 | 50.0 | 50.0 % | 10 | 100 | 1 |",
        "| 15.0 at most | met |",
        // What is said about a thousand workers.
        "| 100 | 10 Gb/s | 1,000 |",
    ] {
        assert!(squeezed.contains(expected), "{expected}\n{text}");
    }
    Ok(())
}

#[test]
fn a_missing_directory_is_said() -> Result<(), std::io::Error> {
    let scratch = scratch("missing")?;
    let out = papers(&scratch.0, &["--models", "/nowhere/at/all"])?;
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && told.contains("is not there; give --models DIR"), "{told}");
    Ok(())
}
