//! Ten, a hundred and a thousand workers: what each part costs is measured in runs on this machine, the
//! simulation is held against those runs, and then says where the limit is.
//!
//! *Measuring.* Processor times of keepers, broker and workers are taken from runs with batches of different sizes
//! and fitted as so much per batch and so much per unit (a successor asked about, a byte, a state), because no
//! wall-clock time of a machine that all roles share says what one of them could do alone.

use crate::Work;
use crate::chart::{Chart, Mark, Series};
use crate::idle::{CHAINS, HEAVY, LIGHT, Model, cores};
use crate::numbers::{thousands, times};
use crate::report::{Met, Table};
use crate::simulation::{Costs, Linear, Outcome, Site, simulate};
use crate::team::{self, Metered, OTHERS};
use ergodic_driver::fleet::{BATCH_BYTES, BATCH_SECONDS, LEAST_STATES, bytes_in_batch};

/// Costs per state, in µs.
const MICROS: [f64; 4] = [1.0, 5.0, 20.0, 100.0];
/// Workers.
const WORKERS: [usize; 3] = [10, 100, 1000];
/// Keepers.
const KEEPERS: [usize; 5] = [1, 2, 4, 8, 16];
/// Networks: bits per second, in words.
const NETWORKS: [(f64, &str); 2] = [(1e9, "1 Gb/s"), (1e10, "10 Gb/s")];
/// Processors of the broker's computer.
const BROKER: usize = 4;
/// From a worker to a keeper and back in a local network, through the broker.
const ROUND_TRIP: f64 = 1e-3;
/// So many times as long, with `--batch-states`.
const LONGER: f64 = 10.0;

/// A run of one worker with batches of a size, and the sequential run of the same model.
struct Trial {
    name: String,
    batch_states: u32,
    alone: Metered,
    run: Metered,
}

impl Trial {
    /// Bytes that the broker received: all questions, answers and publications, once each.
    fn received(&self) -> f64 {
        let claims = self.run.claims() * self.run.figure("wire_bytes_per_claim");
        claims + (self.run.wire_bytes() - claims).max(0.0) / 2.0
    }
}

/// The section.
pub fn scale(work: &mut Work) {
    work.report.heading("Ten, a hundred, a thousand workers: where the limit is");
    let trials = match trials(work) {
        Ok(trials) => trials,
        Err(problem) => return work.report.text(problem),
    };
    let costs = calibrate(&trials);
    tell_costs(work, &trials, &costs);
    validate(work, &costs);
    grid(work, &costs);
    charts(work, &costs);
}

/// Measures: models of different widths, with small, middle and large batches.
fn trials(work: &mut Work) -> Result<Vec<Trial>, String> {
    let wide =
        if work.quick { "--const N=10 --symmetry off" } else { "--const N=11 --symmetry off" };
    let heavy = if work.quick { "--const Nodes=8" } else { "--const Nodes=9" };
    let plan: [(Model, &str); 3] = [(LIGHT[0], wide), (CHAINS, "--const Window=4"), (HEAVY, heavy)];
    let mut out = Vec::new();
    for (model, flags) in plan {
        let file = model.file();
        let sizes = if work.quick { vec![500, 4000] } else { vec![500, 1500, 5000] };
        let mut commands = vec![team::alone(&file, flags)];
        for size in &sizes {
            commands.push(team::together(&file, &format!("{flags} --batch-states {size}"), 1));
        }
        let mut runs = team::in_turns(&mut work.ergodic, &commands, work.rounds.min(2))?;
        let alone = runs.remove(0);
        let name = model.name.split(',').next().unwrap_or(model.name);
        for (batch_states, run) in sizes.into_iter().zip(runs) {
            let name = format!("{name} `{flags}`");
            out.push(Trial { name, batch_states, alone: alone.clone(), run });
        }
    }
    Ok(out)
}

/// A run as an equation: batches, units and the seconds they took, of which so many count as one.
struct Equation {
    batches: f64,
    units: f64,
    seconds: f64,
    scale: f64,
}

/// Least squares for seconds = batch · batches + unit · units, neither below zero.
fn fit(equations: &[Equation]) -> Linear {
    let sum = |of: fn(f64, f64, f64) -> f64| {
        let one = |e: &Equation| of(e.batches, e.units, e.seconds) / (e.scale * e.scale).max(1e-12);
        equations.iter().map(one).sum::<f64>()
    };
    let (aa, ab, bb) = (sum(|a, _, _| a * a), sum(|a, b, _| a * b), sum(|_, b, _| b * b));
    let (ay, by) = (sum(|a, _, y| a * y), sum(|_, b, y| b * y));
    let det = aa * bb - ab * ab;
    let (batch, unit) = ((ay * bb - by * ab) / det, (by * aa - ay * ab) / det);
    if det.abs() < 1e-30 || unit < 0.0 {
        return Linear { batch: (ay / aa).max(0.0), unit: 0.0 };
    }
    if batch < 0.0 { Linear { batch: 0.0, unit: by / bb } } else { Linear { batch, unit } }
}

/// What the parts cost, with the traffic of the heavy model.
fn calibrate(trials: &[Trial]) -> Costs {
    // Each run counts by the relative error of what was measured.
    let over = |of: fn(&Trial) -> (f64, f64, f64)| -> Linear {
        let equation = |trial: &Trial| {
            let (units, seconds, scale) = of(trial);
            Equation { batches: trial.run.figure("batches"), units, seconds, scale }
        };
        fit(&trials.iter().map(equation).collect::<Vec<_>>())
    };
    let typical = trials.last().map(|trial| &trial.run);
    let each = |of: fn(&Metered) -> f64| typical.map_or(0.0, of);
    let claims = each(|run| run.claims() / run.states);
    let claim_bytes = each(|run| run.figure("wire_bytes_per_claim"));
    let wire = each(|run| run.figure("wire_bytes_per_state"));
    Costs {
        state: 0.0,
        worker: over(|trial| {
            let effort = trial.run.effort.workers;
            (trial.run.states, effort - trial.alone.effort.workers, effort)
        }),
        keeper: over(|trial| {
            let effort = trial.run.effort.keepers;
            (trial.run.claims(), effort, effort)
        }),
        broker: over(|trial| (trial.received(), trial.run.effort.broker, trial.run.effort.broker)),
        claims,
        claim_bytes,
        work_bytes: ((wire - claims * claim_bytes) / 2.0).max(1.0),
        batch: BATCH_BYTES as f64
            / each(|run| bytes_in_batch(run.state_bits as usize) as f64).max(1.0),
    }
}

/// A model with so much per state, in batches as the program would choose them, or longer ones.
fn with(costs: &Costs, state: f64, longer: f64) -> Costs {
    let batch = (BATCH_SECONDS / state).min(costs.batch).max(LEAST_STATES as f64) * longer;
    Costs { state, batch, ..*costs }
}

fn tell_costs(work: &mut Work, trials: &[Trial], costs: &Costs) {
    let mut table = Table::new(&[
        "run with one worker",
        "states per batch",
        "batches",
        "asked about per state",
        "MB through the broker",
        "worker more than alone, s",
        "fit",
        "keeper, s",
        "fit",
        "broker, s",
        "fit",
    ]);
    for trial in trials {
        let (run, batches) = (&trial.run, trial.run.figure("batches"));
        let fitted =
            |line: Linear, units: f64| format!("{:.2}", line.batch * batches + line.unit * units);
        table.row(vec![
            trial.name.clone(),
            thousands(u64::from(trial.batch_states)),
            format!("{batches:.0}"),
            format!("{:.2}", run.claims() / run.states),
            format!("{:.1}", trial.received() / 1e6),
            format!("{:.2}", run.effort.workers - trial.alone.effort.workers),
            fitted(costs.worker, run.states),
            format!("{:.2}", run.effort.keepers),
            fitted(costs.keeper, run.claims()),
            format!("{:.2}", run.effort.broker),
            fitted(costs.broker, trial.received()),
        ]);
    }
    work.report.text("Processor times of the roles, and what the fit says.");
    work.report.table(table);
    let per_second = |seconds: f64| match seconds {
        0.0 => "no limit that could be measured".to_string(),
        seconds => thousands((1.0 / seconds) as u64),
    };
    work.report.text(format!(
        "**What one processor does.** A keeper: {} successors asked about per second, and {:.2} ms per batch. The \
         broker: {} MB/s in and out, and {:.2} ms per batch, that is {} batches of 64 KiB per second. A worker: {:.2} µs \
         per state and {:.2} ms per batch more than a sequential search. A state makes {:.2} questions of {:.1} bytes \
         and travels in {:.1} bytes (the last run above).",
        per_second(costs.keeper.unit),
        costs.keeper.batch * 1e3,
        per_second(costs.broker.unit * 1e6),
        costs.broker.batch * 1e3,
        per_second(costs.broker.of(65_536.0)),
        costs.worker.unit * 1e6,
        costs.worker.batch * 1e3,
        costs.claims,
        costs.claim_bytes,
        costs.work_bytes,
    ));
}

/// The simulation of this machine against runs on it.
fn validate(work: &mut Work, costs: &Costs) {
    work.report.text(format!(
        "**The simulation against runs on this machine**: all roles share its {} cores. Runs are short and begin with \
         levels that have too little work, which the simulation has not. Where others used more than {OTHERS} processors \
         meanwhile, the measured rate says nothing.",
        cores()
    ));
    let mut table = Table::new(&[
        "model",
        "workers",
        "µs per state",
        "states/s, measured",
        "simulated",
        "ratio",
        "processor time, measured",
        "simulated",
        "others",
    ]);
    let mut worst: Option<f64> = None;
    let models = [(HEAVY, HEAVY.flags(work.quick)), (CHAINS, CHAINS.flags(work.quick))];
    for (model, flags) in models {
        let commands = team::alone_and_together(&model.file(), flags, 2);
        let runs = match team::in_turns(&mut work.ergodic, &commands, work.rounds) {
            Ok(runs) => runs,
            Err(problem) => {
                table.row(vec![model.name.to_string(), problem]);
                continue;
            }
        };
        for (workers, run) in (1..).zip(&runs[1..]) {
            let (row, off) = validated(model, workers, &runs[0], run, costs);
            if run.alone() && runs[0].alone() {
                worst = Some(worst.unwrap_or(1.0).max(off));
            }
            table.row(row);
        }
    }
    work.report.table(table);
    work.report.goal(
        "Scale: the simulation within a quarter of the measured runs of 1 and 2 workers",
        "",
        worst.map_or("the machine was never quiet".to_string(), |worst| {
            format!("{worst:.2} times off at most")
        }),
        worst.filter(|_| !work.quick).map_or(Met::Open, |worst| Met::when(worst <= 1.25)),
    );
}

/// A row, and by which factor the simulation is off.
fn validated(
    model: Model,
    workers: usize,
    alone: &Metered,
    run: &Metered,
    costs: &Costs,
) -> (Vec<String>, f64) {
    let state = alone.effort.workers.max(1e-9) / alone.states;
    let claims = run.claims() / run.states;
    let claim_bytes = run.figure("wire_bytes_per_claim");
    let work_bytes = (run.figure("wire_bytes_per_state") - claims * claim_bytes) / 2.0;
    let batch = run.states / run.figure("batches").max(1.0);
    let costs =
        Costs { state, claims, claim_bytes, work_bytes: work_bytes.max(1.0), batch, ..*costs };
    // Messages stay on the machine: no network, hardly a delay.
    let site = Site {
        workers,
        keepers: 1,
        broker: cores(),
        bandwidth: 1e12,
        round_trip: 1e-4,
        shared: Some(cores()),
    };
    let found = simulate(&costs, &site, 7);
    let measured = run.states / run.seconds;
    let off = found.rate / measured;
    let used = costs.compute() + costs.keeper.of(batch * claims) + costs.broker.of(costs.bytes());
    let row = vec![
        model.name.to_string(),
        workers.to_string(),
        format!("{:.1}", state * 1e6),
        thousands(measured as u64),
        thousands(found.rate as u64),
        times(Some(off)),
        format!("{:.2}", run.effort.sum() / alone.effort.sum().max(1e-9)),
        format!("{:.2}", used / (batch * state)),
        format!("{:.1}", run.others.max(alone.others)),
    ];
    (row, off.max(1.0 / off.max(1e-9)))
}

/// The table of all sites.
fn grid(work: &mut Work, costs: &Costs) {
    work.report.text(format!(
        "**Where the limit is.** Every worker and every keeper has a processor of its own, the broker {BROKER}; the network is \
         that of the broker, through which everything goes twice; a round trip takes {:.0} ms. A cell has the \
         efficiency (rate ÷ (workers × rate of one sequential search)) and the busiest part; the rate is that with 16 \
         keepers. Batches are {:.0} ms long, but no larger than the program makes them; every keeper hears of every batch, \
         so the last columns have batches that are ten times as long (`--batch-states`). There is always work \
         for everybody: a state space must be wide enough for that, at least two batches per worker.",
        ROUND_TRIP * 1e3,
        BATCH_SECONDS * 1e3
    ));
    let mut head: Vec<String> = ["µs per state", "network", "workers"].map(str::to_string).to_vec();
    head.extend(KEEPERS.map(|k| format!("{k} keeper{}", if k == 1 { "" } else { "s" })));
    head.extend(["states/s", "16, longer batches", "states/s"].map(str::to_string));
    let mut table = Table::new(&head);
    for micros in MICROS {
        for (bits, network) in NETWORKS {
            for workers in WORKERS {
                let mut row =
                    vec![format!("{micros:.0}"), network.to_string(), thousands(workers as u64)];
                let mut rate = 0.0;
                for keepers in KEEPERS {
                    let (cell, found) = at(costs, micros, workers, keepers, bits, 1.0);
                    row.push(format!("{:.0} % {}", cell * 100.0, found.limit()));
                    rate = found.rate;
                }
                row.push(thousands(rate as u64));
                let (cell, found) = at(costs, micros, workers, 16, bits, LONGER);
                row.push(format!("{:.0} % {}", cell * 100.0, found.limit()));
                row.push(thousands(found.rate as u64));
                table.row(row);
            }
        }
    }
    work.report.table(table);
}

/// The efficiency of a site, and what else came out.
fn at(
    costs: &Costs,
    micros: f64,
    workers: usize,
    keepers: usize,
    bits: f64,
    longer: f64,
) -> (f64, Outcome) {
    let costs = with(costs, micros * 1e-6, longer);
    let (bandwidth, round_trip) = (bits / 8.0, ROUND_TRIP);
    let site = Site { workers, keepers, broker: BROKER, bandwidth, round_trip, shared: None };
    let found = simulate(&costs, &site, 11);
    (found.rate * costs.state / workers as f64, found)
}

fn charts(work: &mut Work, costs: &Costs) {
    let many = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    for (keepers, (bits, network)) in [(1, NETWORKS[0]), (16, NETWORKS[1])] {
        let series = MICROS.iter().map(|micros| {
            let points = many.iter().map(|workers| {
                let (efficiency, _) = at(costs, *micros, *workers, keepers, bits, 1.0);
                ((*workers as f64).log10(), efficiency * 100.0)
            });
            Series::new(&format!("{micros:.0} µs"), Mark::Line, points)
        });
        let s = if keepers == 1 { "" } else { "s" };
        let chart = Chart {
            label: format!("efficiency by workers, {keepers} keeper{s}, {network}"),
            x_title: "workers, as a power of ten".to_string(),
            y_title: "efficiency in %".to_string(),
            top: Some(110.0),
            series: series.collect(),
        };
        let caption = format!(
            "Simulated efficiency with {keepers} keeper{s} and {network}, by cost per state."
        );
        work.report.chart(chart, &caption);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_found_again() {
        let measured =
            |batches, units, seconds| Equation { batches, units, seconds, scale: seconds };
        let point = |a: f64, b: f64| measured(a, b, 2e-3 * a + 1e-6 * b);
        let points = [point(100.0, 1e6), point(400.0, 1e6), point(30.0, 5e6)];
        let found = fit(&points);
        assert!(
            (found.batch - 2e-3).abs() < 1e-9 && (found.unit - 1e-6).abs() < 1e-12,
            "{found:?}"
        );
        // More batches and less time: batches then cost nothing.
        let found = fit(&[measured(100.0, 1e6, 1.0), measured(200.0, 1e6, 0.9)]);
        assert!(found.batch == 0.0 && found.unit > 8e-7, "{found:?}");
    }

    #[test]
    fn batches_are_long_or_large() {
        let costs = Costs { batch: 5000.0, ..Costs::default() };
        let long = BATCH_SECONDS / 100e-6;
        assert_eq!(with(&costs, 100e-6, 1.0).batch, long);
        assert_eq!(with(&costs, 100e-6, 10.0).batch, 10.0 * long);
        assert_eq!(with(&costs, 1e-6, 1.0).batch, 5000.0);
        assert_eq!(with(&costs, 1.0, 1.0).batch, LEAST_STATES as f64);
    }
}
