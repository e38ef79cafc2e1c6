//! Checks a model: builds the executor, runs a row of the table, replays what was found.

use crate::build::{Built, with_system};
use crate::checkpoint::{Keeper, Saved};
use crate::combine::{Explored, Extras, Row, explore, illegal};
use crate::explain::Explainer;
use crate::graph::GraphWriter;
use crate::load::Model;
use crate::memory;
use crate::options::{
    CheckOptions, GraphFile, Reduction, SearchKind, StoreKind, Strategy, Symmetry,
};
use crate::reduce::Commuting;
use crate::report::{CoverStats, Finding, FindingKind, Report, RuleStats, RunStats};
use ergodic_diag::Diagnostic;
use ergodic_ir::{Instances, Layout, PropertyKind};
use ergodic_search::{
    Compressed, Ending, Limits, LiveAnswer, LiveOutcome, Observer, Outcome, Sink, Sleeping,
    Stubborn, Unobserved,
};
use ergodic_symmetry::Symmetries;
use ergodic_system::{Assurance, Erased, Figure, Reason, Verdict, ViolationKind};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Why a run ended without a report. Each names the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckError {
    /// A file that was asked for cannot be written.
    Output(String),
    /// Options that do not go together, or with this model.
    Options(String),
    /// A mistake of Ergodic itself.
    Internal(String),
}

impl std::fmt::Display for CheckError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CheckError::Output(text) | CheckError::Options(text) => f.write_str(text),
            CheckError::Internal(text) => {
                write!(f, "internal error: {text}; this is a mistake of Ergodic, please report it")
            }
        }
    }
}

/// Bytes in which stubborn sets note which states were found, at most.
const MOST_LEVEL_BYTES: u64 = 2 << 30;
/// With a smaller part of all pairs of rule instances, sleep sets gain little.
const LITTLE_INDEPENDENCE: f64 = 0.05;
/// The part of free memory that a run takes when no budget is given.
const FREE_SHARE: f64 = 0.9;

/// Visits all states of a model; several times, with different hash functions, if the options say so.
pub fn check(
    model: &Model,
    options: &CheckOptions,
    observer: &mut (dyn Observer + Send),
) -> Result<Report, CheckError> {
    repeat(model, options, None, observer)
}

/// Goes on with a run that was saved, with these options instead of the saved ones.
pub fn resume(
    model: &Model,
    options: &CheckOptions,
    saved: &Saved,
    observer: &mut (dyn Observer + Send),
) -> Result<Report, CheckError> {
    repeat(model, options, Some(saved), observer)
}

/// Runs, or goes on, as often as the options say and there is something to gain from it.
fn repeat(
    model: &Model,
    options: &CheckOptions,
    mut saved: Option<&Saved>,
    observer: &mut (dyn Observer + Send),
) -> Result<Report, CheckError> {
    let mut earlier = saved.map_or_else(Earlier::default, |saved| saved.earlier.clone());
    let mut report = loop {
        let mut report = check_once(model, options, saved.take(), &earlier, observer)?;
        earlier.join(&mut report);
        let again = matches!(report.verdict, Verdict::Holds(Assurance::OmissionBound(_)));
        if !again || earlier.runs >= options.short.reruns {
            break report;
        }
    };
    if options.short.reruns > 1 && matches!(report.verdict, Verdict::Holds(Assurance::Exact)) {
        let note = "no state can have been omitted, so there was nothing to gain from --reruns";
        report.notes.push(note.to_string());
    }
    Ok(report)
}

/// What the runs before this one found, if it is to be repeated with other hash functions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Earlier {
    runs: u32,
    /// The probability that all of them omitted a state, at most.
    bound: f64,
    /// States of the one that found the most.
    states: u64,
    seconds: f64,
}

impl Default for Earlier {
    fn default() -> Earlier {
        Earlier { runs: 0, bound: 1.0, states: 0, seconds: 0.0 }
    }
}

impl Earlier {
    /// The options of the next run: each has hash functions of its own.
    fn options(&self, options: &CheckOptions) -> CheckOptions {
        let mut options = options.clone();
        options.short.seed = options.short.seed.wrapping_add(u64::from(self.runs));
        options
    }

    /// Puts a run together with those before it.
    fn join(&mut self, report: &mut Report) {
        if let Verdict::Holds(Assurance::OmissionBound(bound)) = &mut report.verdict {
            *bound *= self.bound;
            self.bound = *bound;
        }
        self.runs += 1;
        let stats = &mut report.stats;
        stats.elapsed += Duration::try_from_secs_f64(self.seconds).unwrap_or_default();
        stats.states = stats.states.max(self.states);
        self.seconds = stats.elapsed.as_secs_f64() + stats.seconds_before;
        self.states = stats.states;
    }
}

fn check_once(
    model: &Model,
    options: &CheckOptions,
    saved: Option<&Saved>,
    earlier: &Earlier,
    observer: &mut (dyn Observer + Send),
) -> Result<Report, CheckError> {
    let began = Instant::now();
    let now = &earlier.options(options);
    with_system(model, now, |built| {
        let system = built.system;
        let mut run = Run::new(model, now, saved, began);
        run.repeats = Some((options, earlier));
        run.built(built);
        run.run(&system, observer)
    })
}

/// The limits of a run that began at this time.
pub(crate) fn limits(options: &CheckOptions, began: Instant) -> Limits {
    let free = || memory::available().map(|bytes| (bytes as f64 * FREE_SHARE) as u64);
    Limits {
        max_states: options.max_states,
        max_depth: options.max_depth,
        deadline: options.time_limit.and_then(|limit| began.checked_add(limit)),
        memory: options.memory.or_else(free),
        max_errors: options.max_errors,
        traces: options.traces,
        ..Limits::default()
    }
}

/// One run of one model.
pub(crate) struct Run<'a> {
    /// Whether states may be found on longer ways first.
    pub(crate) loose: bool,
    model: &'a Model,
    options: &'a CheckOptions,
    saved: Option<&'a Saved>,
    /// The options of all runs of which this is one, and what came before it.
    repeats: Option<(&'a CheckOptions, &'a Earlier)>,
    engine: &'static str,
    symmetries: Option<Symmetries>,
    compile: Duration,
    notes: Vec<String>,
    warnings: Vec<Diagnostic>,
    limits: Limits,
    began: Instant,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        model: &'a Model,
        options: &'a CheckOptions,
        saved: Option<&'a Saved>,
        began: Instant,
    ) -> Run<'a> {
        Run {
            loose: false,
            model,
            options,
            saved,
            repeats: None,
            engine: "",
            symmetries: None,
            compile: Duration::ZERO,
            notes: Vec::new(),
            warnings: Vec::new(),
            limits: limits(options, began),
            began,
        }
    }

    /// Takes over what was found out while the system was made.
    pub(crate) fn built(&mut self, built: Built<'_>) {
        self.engine = built.engine;
        self.symmetries = built.symmetries;
        self.notes.extend(built.notes);
        self.warnings.extend(built.warnings);
    }

    /// Everything is compiled: the clock of the search starts.
    pub(crate) fn ready(&mut self) {
        self.compile = self.began.elapsed();
        self.began = Instant::now();
    }

    /// Adds something that a reader should know.
    pub(crate) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// When the search began.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// The report of a search on several machines, with what they measured.
    pub(crate) fn fleet_report(
        self,
        system: &Erased<'_>,
        explored: Explored,
        elapsed: Duration,
        figures: Vec<Figure>,
    ) -> Result<Report, CheckError> {
        let mut report = self.report(system, explored, elapsed)?;
        report.stats.search = "fleet";
        report.stats.figures.extend(figures);
        Ok(report)
    }

    fn row(&self) -> Row {
        Row::of(self.options)
    }

    /// Who keeps checkpoints, if somebody does.
    fn keeper(&self) -> Result<Option<Keeper>, CheckError> {
        let Some(path) = &self.options.checkpoint else { return Ok(None) };
        let why = match (&self.options.graph, self.model.has_liveness()) {
            (Some(_), _) => Some("a run that writes a graph cannot be saved: leave out --graph"),
            (_, true) => Some(
                "a run with liveness properties cannot be saved, because they need all states in \
                 memory: leave out --checkpoint",
            ),
            _ => cannot_be_saved(&self.row()),
        };
        if let Some(why) = why {
            return Err(CheckError::Options(why.to_string()));
        }
        let seconds = self.saved.map_or(0.0, |saved| saved.seconds);
        let (options, earlier) = self.repeats.unzip();
        let (options, earlier) = (options.unwrap_or(self.options), earlier.cloned());
        let keeper = Keeper::new(path, self.model, options, earlier.unwrap_or_default(), seconds);
        keeper.map(Some).map_err(|why| CheckError::Output(why.to_string()))
    }

    /// Which transitions commute, if the search wants to know.
    fn commuting(&mut self) -> Result<Option<Commuting>, CheckError> {
        let row = self.row();
        if row.reduction == Reduction::None && row.search != SearchKind::SleepDfs {
            return Ok(None);
        }
        let numbered = self.options.graph.is_some() || self.model.has_liveness();
        if let Some(why) = illegal(row, numbered) {
            return Err(CheckError::Options(why));
        }
        if self.options.max_errors > 1 {
            let why = "with a reduction a violation may hide others: leave out --max-errors";
            return Err(CheckError::Options(why.to_string()));
        }
        let commuting =
            Commuting::new(self.model, self.symmetries.as_ref()).map_err(CheckError::Options)?;
        if commuting.share() < LITTLE_INDEPENDENCE {
            self.notes.push(format!(
                "of all pairs of rule instances only {:.1} % commute, so there is little to gain from \
                 sleep or stubborn sets",
                commuting.share() * 100.0
            ));
        }
        Ok(Some(commuting))
    }

    /// Runs a system, or what reductions of its transitions leave of it.
    fn run(
        mut self,
        system: &Erased<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Report, CheckError> {
        let commuting = self.commuting()?;
        match (&commuting, self.options.compress) {
            (Some(commuting), _) if self.options.reduction == Reduction::Sleep => {
                let sleeping = Sleeping::new(*system, commuting.relation.clone());
                let mut report = self.search(&Erased::new(&sleeping), None, observer, |_| {})?;
                if sleeping.is_off() {
                    let note = "little slept, so sleep sets were given up";
                    report.notes.push(note.to_string());
                }
                let value = sleeping.slept() as f64;
                let title = "transitions that slept";
                report.stats.figures.push(Figure { key: "slept_transitions", title, value });
                Ok(report)
            }
            (Some(commuting), _) if self.options.reduction == Reduction::Stubborn => {
                // A table that grows with the states that are found.
                let bytes = self.limits.memory.unwrap_or(u64::MAX / 16) / 16;
                let bytes = bytes.min(MOST_LEVEL_BYTES);
                let relations = commuting.stubborn(self.options.deadlock);
                let stubborn = match self.options.search {
                    SearchKind::Bfs => Stubborn::new(*system, relations, bytes),
                    _ => Stubborn::depth_first(*system, relations, bytes),
                };
                let mut report = self.search(&Erased::new(&stubborn), None, observer, |_| {})?;
                if stubborn.is_full() {
                    let note = "there was no room to note which states were found, so after some levels \
                                all transitions were fired; more --memory makes more room";
                    report.notes.push(note.to_string());
                }
                let (whole, part) = stubborn.expanded();
                let mut figure = |key, title, value: u64| {
                    report.stats.figures.push(Figure { key, title, value: value as f64 });
                };
                figure("reduced_states", "states of which not all transitions were fired", part);
                figure("full_states", "states of which all were", whole);
                Ok(report)
            }
            (_, true) => {
                let chains = Compressed::new(*system);
                let restore = |outcome: &mut Outcome| restore(&chains, outcome);
                let mut report = self.search(&Erased::new(&chains), None, observer, restore)?;
                let value = chains.passed() as f64;
                let title = "states passed inside of chains";
                report.stats.figures.push(Figure { key: "passed_states", title, value });
                Ok(report)
            }
            _ => self.search(system, commuting.as_ref(), observer, |_| {}),
        }
    }

    fn search(
        mut self,
        system: &Erased<'_>,
        commuting: Option<&Commuting>,
        observer: &mut dyn Observer,
        restore: impl Fn(&mut Outcome),
    ) -> Result<Report, CheckError> {
        self.ready();
        let mut writer = match &self.options.graph {
            Some(file) => Some(self.open_graph(file)?),
            None => None,
        };
        let sink = writer.as_mut().map(|writer| writer as &mut dyn Sink);
        let mut keeper = self.keeper()?;
        let resume = match self.saved {
            Some(saved) => Some(saved.resume(self.model).map_err(CheckError::Output)?),
            None => None,
        };
        let extras = Extras {
            options: self.options,
            saver: keeper.as_mut().map(|keeper| keeper as &mut dyn ergodic_search::Saver),
            resume,
            resume_from: self.saved.map(|saved| saved.dir.clone()),
            commuting,
        };
        let mut explored = explore(system, self.row(), &self.limits, observer, sink, extras)
            .map_err(CheckError::Options)?;
        if let Some(why) = self.not_loaded(&explored.outcome) {
            return Err(CheckError::Output(why));
        }
        let elapsed = self.began.elapsed();
        restore(&mut explored.outcome);
        self.note_checkpoints(keeper.as_ref(), &explored.outcome.ending);
        if let Some(writer) = writer {
            let whole = explored.graph == Some(Ending::Complete)
                && explored.outcome.ending == Ending::Complete
                && explored.outcome.findings.is_empty();
            if let Some(note) = writer.finish(whole).map_err(CheckError::Output)? {
                self.notes.push(note);
            }
        }
        self.report(system, explored, elapsed)
    }

    /// Why a saved search could not be loaded, if that is so: it goes on with the states that it had, or
    /// with none.
    fn not_loaded(&self, outcome: &Outcome) -> Option<String> {
        match &outcome.ending {
            Ending::Stopped(Reason::Exhausted(why))
                if self.saved.is_some() && outcome.stats.states == 0 =>
            {
                Some(why.clone())
            }
            _ => None,
        }
    }

    fn note_checkpoints(&mut self, keeper: Option<&Keeper>, ending: &Ending) {
        let stopped = matches!(
            ending,
            Ending::Stopped(Reason::Interrupted | Reason::TimeLimit(_) | Reason::Exhausted(_))
        );
        match (keeper, &self.options.checkpoint) {
            (Some(Keeper { trouble: Some(why), .. }), _) => {
                self.notes.push(format!("the run could not be saved: {why}"));
            }
            (Some(keeper), Some(path)) if stopped && keeper.made > 0 => {
                let path = path.display();
                self.notes.push(format!("saved; to go on: ergodic resume {path}"));
            }
            (None, None) if *ending == Ending::Stopped(Reason::Interrupted) => {
                let how = "with --checkpoint DIR a run that is stopped can be resumed";
                self.notes.push(how.to_string());
            }
            _ => {}
        }
    }

    fn open_graph(&self, file: &GraphFile) -> Result<GraphWriter, CheckError> {
        GraphWriter::create(file, &self.model.program).map_err(CheckError::Output)
    }

    fn report(
        mut self,
        system: &Erased<'_>,
        explored: Explored,
        elapsed: Duration,
    ) -> Result<Report, CheckError> {
        let Explored { outcome, live, store, threads, .. } = explored;
        let mut findings = self.explain(&outcome)?;
        let mut verdict = self.verdict(&outcome, live.as_ref());
        if let Some(live) = &live {
            findings.extend(self.live_findings(system, live, &outcome)?);
        }
        let covers = self.covers(&outcome.goals);
        if matches!(verdict, Verdict::Holds(_)) {
            findings.extend(covers.iter().filter(|c| c.hits == 0).map(uncovered));
        }
        if !findings.is_empty() {
            verdict = Verdict::Violated;
        }
        findings.truncate(self.options.max_errors);
        let rules = self.rules(&outcome);
        let mut stats = self.stats(&outcome, elapsed);
        (stats.store, stats.threads) = (store, threads);
        if stats.forgets {
            self.notes.push(
                "the store forgets states, so states and transitions count repeated visits; \
                 every reachable state was visited if the verdict is holds"
                    .to_string(),
            );
        }
        let whole = matches!(verdict, Verdict::Holds(_));
        let mut warnings = self.warnings;
        warnings.extend(match stats.states {
            0 if whole => vec![Diagnostic::warning(
                "no state is in scope: assumptions exclude every start state",
            )],
            _ if whole => idle_rules(&rules),
            _ => Vec::new(),
        });
        Ok(Report { verdict, findings, stats, rules, covers, notes: self.notes, warnings })
    }

    fn verdict(&self, outcome: &Outcome, live: Option<&LiveOutcome>) -> Verdict {
        let reason = match (&outcome.ending, live.map(|live| &live.ending)) {
            (Ending::Stopped(reason), _) | (_, Some(Ending::Stopped(reason))) => reason,
            _ => return self.worth(outcome),
        };
        // The search knows its deadline only as a point in time; people gave a length.
        let reason = match (reason, self.options.time_limit) {
            (Reason::TimeLimit(_), Some(limit)) => Reason::TimeLimit(limit.as_secs_f64()),
            _ => reason.clone(),
        };
        if outcome.findings.is_empty() { Verdict::Incomplete(reason) } else { Verdict::Violated }
    }

    /// The verdict of a search that ran to its end, given what its store may have lost.
    fn worth(&self, outcome: &Outcome) -> Verdict {
        let losses = &outcome.losses;
        if self.options.store == StoreKind::Bitstate && outcome.findings.is_empty() {
            let coverage = losses.figures.iter().find(|figure| figure.key == "coverage");
            let percent = coverage.map_or(0.0, |figure| figure.value * 100.0);
            return Verdict::Incomplete(Reason::Partial(percent));
        }
        let assurance = match losses.omission {
            0.0 => Assurance::Exact,
            p => Assurance::OmissionBound(p.min(1.0)),
        };
        outcome.verdict(assurance)
    }

    fn explainer(&self, outcome: &Outcome) -> Explainer<'a> {
        // Where states may be omitted, a shorter way may have led through one.
        let shortest = self.options.search == SearchKind::Bfs
            && !self.loose
            && !self.options.compress
            && self.options.reduction != Reduction::Stubborn
            && outcome.losses.omission == 0.0;
        Explainer::new(self.model, self.options.deadlock, self.symmetries.clone(), shortest)
    }

    fn explain(&self, outcome: &Outcome) -> Result<Vec<Finding>, CheckError> {
        let explainer = self.explainer(outcome);
        let explain = |(i, f): (usize, &ergodic_search::Finding)| explainer.explain(f, i == 0);
        let findings: Result<Vec<_>, String> =
            outcome.findings.iter().enumerate().map(explain).collect();
        findings.map_err(CheckError::Internal)
    }

    /// Findings for liveness properties. The way to a state is known after a breadth-first search;
    /// after another one, or without a log, a breadth-first search is made for it.
    fn live_findings(
        &self,
        system: &Erased<'_>,
        live: &LiveOutcome,
        outcome: &Outcome,
    ) -> Result<Vec<Finding>, CheckError> {
        let failed = |answer: &LiveAnswer| {
            matches!(answer, LiveAnswer::Fails { .. } | LiveAnswer::Faulted { .. })
        };
        if !live.answers.iter().any(failed) {
            return Ok(Vec::new());
        }
        let again = match &outcome.parents {
            Some(_) => None,
            None if !self.options.traces => None,
            None => {
                let limits = Limits { traces: true, ..self.limits.clone() };
                let row = Row { search: SearchKind::Bfs, ..self.row() };
                let extras = Extras {
                    options: self.options,
                    saver: None,
                    resume: None,
                    resume_from: None,
                    commuting: None,
                };
                let again = explore(system, row, &limits, &mut Unobserved, None, extras);
                Some(again.map_err(CheckError::Options)?)
            }
        };
        let (live, outcome) = match &again {
            Some(Explored { outcome, live: Some(live), .. }) => (live, outcome),
            _ => (live, outcome),
        };
        let properties = &self.model.program.properties;
        let live_properties =
            (0..properties.len()).filter(|i| properties[*i].kind == PropertyKind::Liveness);
        let explainer =
            Explainer::new(self.model, self.options.deadlock, self.symmetries.clone(), true);
        let mut findings = Vec::new();
        for (property, answer) in live_properties.zip(&live.answers) {
            let (state, kind) = match answer {
                LiveAnswer::Fails { state } => (*state, ViolationKind::Property(property as u32)),
                LiveAnswer::Faulted { state, fault } => (*state, ViolationKind::Fault(*fault)),
                LiveAnswer::Holds | LiveAnswer::Unknown => continue,
            };
            let path = outcome.parents.as_ref().map(|log| log.path(state)).unwrap_or_default();
            let depth = path.len().saturating_sub(1) as u64;
            let finding = ergodic_search::Finding { path, kind, depth };
            findings.push(explainer.explain(&finding, true).map_err(CheckError::Internal)?);
        }
        Ok(findings)
    }

    fn covers(&self, goals: &[u64]) -> Vec<CoverStats> {
        let properties = self.model.program.properties.iter();
        let covers = properties.filter(|p| p.kind == PropertyKind::Cover);
        let stats = |(p, hits): (&ergodic_ir::Property, &u64)| CoverStats {
            name: p.name.clone(),
            span: p.span,
            hits: *hits,
        };
        covers.zip(goals).map(stats).collect()
    }

    /// Rules in source order; several actions of one rule (as from unrolling) stay apart.
    fn rules(&self, outcome: &Outcome) -> Vec<RuleStats> {
        let program = &self.model.program;
        let instances = Instances::new(program);
        let stats = |(i, action): (usize, &ergodic_ir::Action)| RuleStats {
            name: action.name.clone(),
            span: action.span,
            instances: instances.count(false, i),
            fired: outcome.stats.fired.get(i).copied().unwrap_or(0),
            fresh: outcome.stats.fresh.get(i).copied().unwrap_or(0),
        };
        let mut rules: Vec<RuleStats> = program.actions.iter().enumerate().map(stats).collect();
        rules.sort_by_key(|rule| rule.span.start);
        rules
    }

    /// Breadth first, the last level that was expanded, as Murphi counts: of a run that a violation
    /// ended, the level at which it was seen; of a whole one, the last level there is.
    fn depth(&self, outcome: &Outcome) -> u64 {
        match (self.options.search, &outcome.ending, outcome.findings.last()) {
            (SearchKind::Bfs, Ending::Enough, Some(last)) => match last.kind {
                ViolationKind::Property(_) => last.depth.saturating_sub(1),
                ViolationKind::Fault(_) | ViolationKind::Deadlock => last.depth,
            },
            _ => outcome.stats.depth,
        }
    }

    fn stats(&self, outcome: &Outcome, elapsed: Duration) -> RunStats {
        let found = &outcome.stats;
        RunStats {
            states: found.states,
            transitions: found.transitions,
            depth: self.depth(outcome),
            max_frontier: found.max_frontier,
            levels: found.levels.clone(),
            state_bits: Layout::new(&self.model.program).shape().bits,
            elapsed,
            compile: self.compile,
            peak_memory: memory::peak(),
            store_bytes: found.store_bytes,
            threads: 1,
            engine: self.engine,
            store: "exact",
            search: match self.options.search {
                SearchKind::Bfs => "bfs",
                SearchKind::Dfs => "dfs",
                SearchKind::SleepDfs => "sleep-dfs",
            },
            symmetry: match &self.symmetries {
                Some(_) => self.options.symmetry.name(),
                None => Symmetry::Off.name(),
            },
            strategy: strategy_name(self.options.strategy),
            reduction: match self.options.reduction {
                Reduction::None => "none",
                Reduction::Sleep => "sleep",
                Reduction::Stubborn => "stubborn",
            },
            compressed: self.options.compress,
            forgets: outcome.losses.forgets,
            figures: figures(outcome),
            seconds_before: self.saved.map_or(0.0, |saved| saved.seconds),
        }
    }
}

/// Puts the steps inside of chains back into the ways to violations.
pub(crate) fn restore(chains: &Compressed<Erased<'_>>, outcome: &mut Outcome) {
    for finding in &mut outcome.findings {
        finding.path = chains.full_path(&finding.path, finding.kind);
        finding.depth = (finding.path.len() as u64).saturating_sub(1);
    }
}

/// The name of a strategy.
fn strategy_name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Auto => "auto",
        Strategy::Ram => "ram",
        Strategy::Cached => "cached",
        Strategy::Dbf => "dbf",
        Strategy::Serial => "serial",
        Strategy::Sorted => "sorted",
    }
}

/// What the store measured, and the bound for a single error.
fn figures(outcome: &Outcome) -> Vec<Figure> {
    let losses = &outcome.losses;
    let mut figures = losses.figures.clone();
    if losses.path_omission > 0.0 && !outcome.stats.levels.is_empty() {
        // Of an error only one shortest path must survive, a state of each level.
        let value = (losses.path_omission * (outcome.stats.depth + 1) as f64).min(1.0);
        let title = "probability that a given error was missed, at most";
        figures.push(Figure { key: "error_omission_bound", title, value });
    }
    figures
}

/// Why a run of this kind cannot be saved.
fn cannot_be_saved(row: &Row) -> Option<&'static str> {
    match (row.search, row.store) {
        (SearchKind::Dfs | SearchKind::SleepDfs, _) => {
            Some("a depth-first search cannot be saved: use --search bfs")
        }
        (_, StoreKind::Numbered) => {
            Some("a run with --store numbered cannot be saved: use --store exact")
        }
        _ => None,
    }
}

/// Warnings for rules that fired in no reachable state.
fn idle_rules(rules: &[RuleStats]) -> Vec<Diagnostic> {
    let idle = rules.iter().filter(|rule| rule.fired == 0);
    idle.map(|rule| {
        Diagnostic::warning(format!("rule \"{}\" never fired", rule.name))
            .at(rule.span, "its condition holds in no reachable state")
    })
    .collect()
}

fn uncovered(cover: &CoverStats) -> Finding {
    Finding {
        kind: FindingKind::Cover,
        name: cover.name.clone(),
        message: format!("cover goal \"{}\" is met in no reachable state", cover.name),
        help: None,
        span: Some(cover.span),
        depth: 0,
        shortest: false,
        trace: Vec::new(),
    }
}
