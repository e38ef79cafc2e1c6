//! A small system with everything that can happen in one, and a search that is obviously right.

#![allow(dead_code, reason = "each test file uses a part of it")]

use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{Ending, Limits, Outcome, Unobserved, bfs, dfs};
use ergodic_store::exact::ExactStore;
use ergodic_system::{
    Batch, Block, Cursor, Fault, Label, Live, Picks, Reason, Shape, Step, System, Violation,
    ViolationKind,
};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

pub const RULES: u32 = 4;

#[derive(Clone, Debug)]
pub enum Act {
    Go { rule: u32, to: u32 },
    Fault { site: u32 },
}

/// Nodes with actions, some of them bad. A state is `width` words that depend on the node.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub width: usize,
    pub starts: Vec<Act>,
    pub acts: Vec<Vec<Act>>,
    /// Node and property.
    pub bad: HashMap<u32, u32>,
    pub deadlocks: bool,
    /// Per live property the satisfying nodes.
    pub live: Vec<Vec<u32>>,
    /// Whether there is a cover goal, which every state meets.
    pub goal: bool,
}

impl Model {
    pub fn encode(&self, node: u32) -> Vec<u64> {
        (0..self.width).map(|i| u64::from(node) << (i % 32)).collect()
    }

    pub fn label(&self, node: Option<u32>, at: usize) -> Label {
        let row = node.map_or(0, |n| n + 1);
        Label(row * 64 + at as u32)
    }

    /// Follows a path; the last label may fault.
    pub fn replay(&self, path: &[Label]) -> (Option<u32>, Option<u32>) {
        let mut node = None;
        for (i, label) in path.iter().enumerate() {
            let acts = node.map_or(&self.starts, |n: u32| &self.acts[n as usize]);
            let at = (label.0 % 64) as usize;
            assert_eq!(*label, self.label(node, at), "step {i} starts elsewhere");
            match acts[at] {
                Act::Go { to, .. } => node = Some(to),
                Act::Fault { site } => {
                    assert_eq!(i + 1, path.len(), "a fault ends a path");
                    return (node, Some(site));
                }
            }
        }
        (node, None)
    }

    fn act(
        &self,
        row: &[Act],
        node: Option<u32>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Option<Step> {
        while let Some(act) = row.get(at.instance as usize) {
            let label = self.label(node, at.instance as usize);
            match *act {
                Act::Go { .. } if out.is_full() => return Some(Step::Full),
                Act::Go { rule, to } => out.push(&self.encode(to), at.source as u32, rule, label),
                Act::Fault { site } => {
                    at.instance += 1;
                    let kind = ViolationKind::Fault(Fault { kind: 1, site, value: 0 });
                    return Some(Step::Violation(Violation {
                        at: at.source,
                        label: Some(label),
                        kind,
                    }));
                }
            }
            at.instance += 1;
        }
        None
    }
}

impl System for Model {
    type Scratch = Vec<u64>;

    fn shape(&self) -> Shape {
        Shape::of_bits(64 * self.width)
    }

    fn scratch(&self) -> Vec<u64> {
        vec![0; usize::from(self.goal)]
    }

    fn rules(&self) -> usize {
        RULES as usize
    }

    fn initial(&self, _: &mut Vec<u64>, at: &mut Cursor, out: &mut Batch) -> Step {
        self.act(&self.starts, None, at, out).unwrap_or(Step::Done)
    }

    fn expand(&self, _: &mut Vec<u64>, src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        while at.source < src.len() {
            let node = src.padded(at.source)[0] as u32;
            if let Some(step) = self.act(&self.acts[node as usize], Some(node), at, out) {
                return step;
            }
            let source = at.source;
            *at = Cursor { source: source + 1, ..Cursor::default() };
            if self.deadlocks && self.acts[node as usize].is_empty() {
                let kind = ViolationKind::Deadlock;
                return Step::Violation(Violation { at: source, label: None, kind });
            }
        }
        Step::Done
    }

    fn judge(
        &self,
        goals: &mut Vec<u64>,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        while *at < fresh.len() {
            let place = fresh[*at] as usize;
            *at += 1;
            goals.iter_mut().for_each(|met| *met += 1);
            if let Some(property) = self.bad.get(&(b.state(place)[0] as u32)) {
                let kind = ViolationKind::Property(*property);
                return Some(Violation { at: place, label: None, kind });
            }
        }
        None
    }

    fn goals<'s>(&self, goals: &'s Vec<u64>) -> &'s [u64] {
        goals
    }
}

impl Live for Model {
    fn live_properties(&self) -> usize {
        self.live.len()
    }

    fn satisfies(
        &self,
        _: &mut Vec<u64>,
        state: Block<'_>,
        property: usize,
    ) -> Result<bool, Fault> {
        Ok(self.live[property].contains(&(state.padded(0)[0] as u32)))
    }
}

/// What the oracle says.
#[derive(Debug, PartialEq)]
pub struct Expected {
    pub ending: Ending,
    pub states: u64,
    pub transitions: u64,
    pub depth: u64,
    pub fired: Vec<u64>,
    pub fresh: Vec<u64>,
    /// Kind, depth of the state, and (breadth first) the node where it is seen.
    pub findings: Vec<(ViolationKind, u64)>,
}

/// One successor at a time, with library containers.
pub struct Oracle<'a> {
    model: &'a Model,
    limits: &'a Limits,
    seen: HashMap<u32, u64>,
    waiting: VecDeque<u32>,
    keys: Vec<(u32, u32, Option<u32>)>,
    depth: u64,
    out: Expected,
}

impl<'a> Oracle<'a> {
    pub fn run(model: &'a Model, limits: &'a Limits, deep: bool) -> (Expected, HashMap<u32, u64>) {
        let zeros = vec![0; RULES as usize];
        let out = Expected {
            ending: Ending::Complete,
            states: 0,
            transitions: 0,
            depth: 0,
            fired: zeros.clone(),
            fresh: zeros,
            findings: Vec::new(),
        };
        let (seen, waiting) = (HashMap::new(), VecDeque::new());
        let mut o = Oracle { model, limits, seen, waiting, keys: Vec::new(), depth: 0, out };
        if let Err(ending) = o.search(deep) {
            o.out.ending = ending;
        }
        (o.out, o.seen)
    }

    fn search(&mut self, deep: bool) -> Result<(), Ending> {
        let mut cut = None;
        let starts = self.expand(None)?;
        self.add(starts, deep);
        while let Some(node) = self.waiting.pop_front() {
            let depth = self.seen[&node];
            if self.limits.max_depth == Some(depth) {
                cut = Some(Ending::Stopped(Reason::DepthLimit(depth)));
                continue;
            }
            self.depth = depth + 1;
            let children = self.expand(Some(node))?;
            self.add(children, deep);
        }
        cut.map_or(Ok(()), Err)
    }

    fn add(&mut self, children: Vec<u32>, deep: bool) {
        if deep {
            children.into_iter().rev().for_each(|child| self.waiting.push_front(child));
        } else {
            self.waiting.extend(children);
        }
    }

    fn expand(&mut self, node: Option<u32>) -> Result<Vec<u32>, Ending> {
        let acts = node.map_or(&self.model.starts, |n| &self.model.acts[n as usize]);
        let mut children = Vec::new();
        for act in acts {
            match *act {
                Act::Fault { site } => {
                    let kind = ViolationKind::Fault(Fault { kind: 1, site, value: 0 });
                    self.found((1, site, None), kind, self.depth.saturating_sub(1))?;
                }
                Act::Go { rule, to } => {
                    let rule = node.map(|_| rule as usize);
                    let new = !self.seen.contains_key(&to);
                    if new && self.limits.max_states == Some(self.out.states) {
                        return Err(Ending::Stopped(Reason::StateLimit(self.out.states)));
                    }
                    if let Some(rule) = rule {
                        self.out.transitions += 1;
                        self.out.fired[rule] += 1;
                        self.out.fresh[rule] += u64::from(new);
                    }
                    if new {
                        self.seen.insert(to, self.depth);
                        self.out.states += 1;
                        self.out.depth = self.out.depth.max(self.depth);
                        if let Some(property) = self.model.bad.get(&to) {
                            let key = (0, *property, rule.map(|r| r as u32));
                            self.found(key, ViolationKind::Property(*property), self.depth)?;
                        } else {
                            children.push(to);
                        }
                    }
                }
            }
        }
        if node.is_some() && acts.is_empty() && self.model.deadlocks {
            self.found((2, 0, None), ViolationKind::Deadlock, self.depth - 1)?;
        }
        Ok(children)
    }

    fn found(
        &mut self,
        key: (u32, u32, Option<u32>),
        kind: ViolationKind,
        depth: u64,
    ) -> Result<(), Ending> {
        if !self.keys.contains(&key) {
            self.keys.push(key);
            self.out.findings.push((kind, depth));
        }
        if self.keys.len() >= self.limits.max_errors { Err(Ending::Enough) } else { Ok(()) }
    }
}

pub fn run_bfs(model: &Model, limits: &Limits) -> Outcome {
    let mut store = ExactStore::new(model.shape(), None);
    let mut queue = MemoryQueue::new(model.shape());
    bfs(model, &mut store, &mut queue, limits, &mut Unobserved)
}

pub fn run_dfs(model: &Model, limits: &Limits) -> Outcome {
    let mut store = ExactStore::new(model.shape(), None);
    dfs(model, &mut store, limits, &mut Unobserved)
}

pub fn summary(outcome: &Outcome) -> Expected {
    let stats = &outcome.stats;
    Expected {
        ending: outcome.ending.clone(),
        states: stats.states,
        transitions: stats.transitions,
        depth: stats.depth,
        fired: stats.fired.clone(),
        fresh: stats.fresh.clone(),
        findings: outcome.findings.iter().map(|f| (f.kind, f.depth)).collect(),
    }
}

/// Random models; `wrong` says whether something may go wrong in them.
pub fn models(wrong: bool) -> impl Strategy<Value = Model> {
    let shape = (1..40u32, 1..4usize, any::<bool>(), any::<bool>());
    shape.prop_flat_map(move |(nodes, width, deadlocks, goal)| {
        let go = (0..RULES, 0..nodes).prop_map(|(rule, to)| Act::Go { rule, to });
        let fault = (0..3u32).prop_map(|site| Act::Fault { site });
        let act = prop_oneof![30 => go, u32::from(wrong) => fault];
        let acts = prop::collection::vec(prop::collection::vec(act.clone(), 0..6), nodes as usize);
        let bad = prop::collection::hash_map(0..nodes, 0..2u32, 0..=if wrong { 3 } else { 0 });
        let live = prop::collection::vec(prop::collection::vec(0..nodes, 0..3), 0..4);
        (prop::collection::vec(act, 1..4), acts, bad, live).prop_map(
            move |(starts, acts, bad, live)| Model {
                width,
                starts,
                acts,
                bad,
                deadlocks: deadlocks && wrong,
                live,
                goal,
            },
        )
    })
}

/// Limits that force every path through the batch code.
pub fn small_limits() -> impl Strategy<Value = Limits> {
    let (batch, block) =
        (prop_oneof![1..4usize, Just(7), Just(1000)], prop_oneof![1..4usize, Just(64)]);
    (batch, block, any::<bool>()).prop_map(|(batch, block, traces)| Limits {
        batch,
        block,
        traces,
        ..Limits::default()
    })
}
