//! Jobs on several machines, with real processes and a real NATS server: they must come to what `check`
//! comes to, whatever dies in between and whoever talks out of turn.
//!
//! The server is the Debian package nats-server. `ERGODIC_WITHOUT_NATS=1` does without, and says so.
//! `ERGODIC_FLEET_RUNS=50` repeats the tests in which things die, each time with other deaths.

#[path = "fleet/chaos.rs"]
mod chaos;
#[path = "fleet/cut.rs"]
mod cut;
#[path = "fleet/input.rs"]
mod input;
#[path = "fleet/jobs.rs"]
mod jobs;
#[path = "fleet/models.rs"]
mod models;
#[path = "fleet/plain.rs"]
mod plain;
#[path = "fleet/run.rs"]
mod run;
