//! The messages: work batches, and what workers and the coordinator ask keepers.
//!
//! A request is the job's tag and sections, each about one batch, so that one message serves all the
//! batches that a worker has at hand; the answer has one section for each of them, in the same order.

use crate::bytes::{Reader, put_u32, put_u64, put_u128, put_var, unzigzag, zigzag};
use crate::keys::{Codec, Id, Packer, Ref};
use ergodic_system::{Fault, Label, PAD_WORDS, ViolationKind};
use serde::{Deserialize, Serialize};

/// A batch of states that wait to be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkBatch {
    pub id: Id,
    /// Steps from an initial state, as far as the search knows.
    pub level: u32,
    /// Where keepers know the states by.
    pub refs: Vec<Ref>,
    /// The states, and padding.
    pub states: Vec<u64>,
}

impl WorkBatch {
    pub(crate) fn len(&self) -> usize {
        self.refs.len()
    }
}

/// Writes a batch; returns its identity and the message.
pub(crate) fn work_message(
    codec: &Codec,
    level: u32,
    refs: &[Ref],
    states: &[u64],
) -> (Id, Vec<u8>) {
    let width = codec.shape.words;
    let mut out = vec![0; 16];
    put_u64(&mut out, codec.tag());
    put_u32(&mut out, level);
    put_u32(&mut out, refs.len() as u32);
    let mut before = 0;
    for place in refs {
        put_var(&mut out, zigzag(before, *place));
        before = *place;
    }
    let mut packer = Packer::states(codec);
    states.chunks_exact(width).take(refs.len()).for_each(|state| packer.put(state, &mut out));
    let id = codec.identify(&out[16..]);
    out[..16].copy_from_slice(&id.to_le_bytes());
    (id, out)
}

/// Reads a batch; `None` if it is none of this job.
pub(crate) fn read_work(codec: &Codec, message: &[u8]) -> Option<WorkBatch> {
    let mut reader = Reader::new(message);
    let id = reader.u128()?;
    if codec.identify(&message[16..]) != id || reader.u64()? != codec.tag() {
        return None;
    }
    let level = reader.u32()?;
    let count = reader.u32()? as usize;
    // Each takes a byte at least: what a stranger claims is not allocated.
    if count > message.len() {
        return None;
    }
    let mut before = 0;
    let mut refs = Vec::with_capacity(count);
    for _ in 0..count {
        before = unzigzag(before, reader.var()?);
        refs.push(before);
    }
    let mut states = Vec::with_capacity(count * codec.shape.words + PAD_WORDS);
    let mut packer = Packer::states(codec);
    for _ in 0..count {
        if !packer.take(&mut reader, codec.shape, &mut states) {
            return None;
        }
    }
    states.resize(states.len() + PAD_WORDS, 0);
    reader.is_empty().then_some(WorkBatch { id, level, refs, states })
}

/// A violation, as keepers hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The state in which it was seen.
    pub at: Ref,
    /// The step behind it, if a step is part of it.
    pub label: Option<Label>,
    pub kind: ViolationKind,
    /// Steps to it, as far as the search knows.
    pub depth: u32,
}

/// What the expansion of a batch came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Rule firings.
    pub transitions: u64,
    /// Per rule.
    pub fired: Vec<u64>,
    /// New states, per rule.
    pub fresh: Vec<u64>,
    /// How often each cover goal was met.
    pub goals: Vec<u64>,
    /// States passed inside of chains.
    pub passed: u64,
    /// States that were left unexpanded, because they are too deep.
    pub cut: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.transitions += other.transitions;
        self.passed += other.passed;
        self.cut += other.cut;
        add_each(&mut self.fired, &other.fired);
        add_each(&mut self.fresh, &other.fresh);
        add_each(&mut self.goals, &other.goals);
    }
}

/// Adds numbers place by place.
fn add_each(sum: &mut Vec<u64>, more: &[u64]) {
    if sum.len() < more.len() {
        sum.resize(more.len(), 0);
    }
    sum.iter_mut().zip(more).for_each(|(a, b)| *a = a.saturating_add(*b));
}

/// The way to a state from its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parent {
    pub record: u64,
    pub from: Ref,
    pub label: Label,
}

/// What a keeper is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Which of these keys are new, or belong to this batch already?
    Claim {
        batch: Id,
        level: u32,
        /// Words, key after key.
        keys: Vec<u64>,
    },
    /// How the new states were found and what is wrong with them. Is the batch still open?
    Record { batch: Id, parents: Vec<Parent>, found: Vec<Found> },
    /// The batch is done, its children are stored. `tally` is for its home.
    Done { batch: Id, tally: Option<Box<Tally>>, children: Vec<Id> },
    /// How far are you?
    Totals,
    /// The ways to these records.
    Parents { records: Vec<u64> },
}

/// How a key stands to the batch that claims it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Known, and the batch that found it is done.
    Settled,
    /// Known, and found by another batch that is not done.
    Pending,
    /// Found by this batch; its record.
    Mine(u64),
}

/// What a keeper answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// To a claim, key by key.
    Standings(Vec<Standing>),
    /// To a record or a done.
    Noted,
    /// The batch is done here: its children are stored.
    AlreadyDone,
    Totals(Box<Totals>),
    Parents(Vec<(Ref, Label)>),
    /// This keeper cannot go on.
    Trouble(String),
}

/// Levels whose states a keeper tells in one answer. A search may have millions of them, and a message has a
/// largest size.
pub const LEVELS_SENT: usize = 1024;

/// How far a keeper is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// States it holds.
    pub states: u64,
    /// Per level, of the deepest [`LEVELS_SENT`] levels.
    pub levels: Vec<u64>,
    /// Which level the first of these is.
    pub first_level: usize,
    /// Bytes of its set.
    pub bytes: u64,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// States of batches that are not done.
    pub pending: u64,
    /// Batches that are done and have their home here, and the sum of their identities.
    pub done: (u64, [u64; 2]),
    /// Children of these batches, and the sum of theirs.
    pub promised: (u64, [u64; 2]),
    /// What the batches came to.
    pub tally: Tally,
    /// Keys that were claimed.
    pub claimed: u64,
    /// Messages that made no sense.
    pub rejected: u64,
    /// Violations, as messages.
    pub found: Vec<Vec<u8>>,
    /// Probability that the set has lost a state.
    pub omission: f64,
    /// The same for one state on the way to an error.
    pub path_omission: f64,
    /// Why it cannot go on.
    pub trouble: Option<String>,
}

/// Adds an identity to a sum of them.
pub(crate) fn add_id(sum: &mut (u64, [u64; 2]), id: Id) {
    sum.0 += 1;
    let total = (u128::from(sum.1[0]) << 64 | u128::from(sum.1[1])).wrapping_add(id);
    sum.1 = [(total >> 64) as u64, total as u64];
}

/// Adds up two sums of identities.
pub(crate) fn add_sums(sum: &mut (u64, [u64; 2]), more: (u64, [u64; 2])) {
    let id = u128::from(more.1[0]) << 64 | u128::from(more.1[1]);
    let count = sum.0;
    add_id(sum, id);
    sum.0 = count + more.0;
}

const CLAIM: u8 = 1;
const RECORD: u8 = 2;
const DONE: u8 = 3;
const TOTALS: u8 = 4;
const PARENTS: u8 = 5;
const NOTED: u8 = 6;
const ALREADY: u8 = 7;
const TROUBLE: u8 = 8;
const STANDINGS: u8 = 9;

/// Writes a request.
pub(crate) fn request(codec: &Codec, asks: &[Ask]) -> Vec<u8> {
    let mut out = Vec::new();
    put_u64(&mut out, codec.tag());
    asks.iter().for_each(|ask| put_ask(codec, ask, &mut out));
    out
}

/// Appends one section of a request (as it also stands in a keeper's log).
pub(crate) fn put_ask(codec: &Codec, ask: &Ask, out: &mut Vec<u8>) {
    match ask {
        Ask::Claim { batch, level, keys } => {
            out.push(CLAIM);
            put_u128(out, *batch);
            put_u32(out, *level);
            put_var(out, (keys.len() / codec.key.words) as u64);
            let mut packer = Packer::keys(codec);
            keys.chunks_exact(codec.key.words).for_each(|key| packer.put(key, out));
        }
        Ask::Record { batch, parents, found } => {
            out.push(RECORD);
            put_u128(out, *batch);
            put_parents(parents, out);
            put_var(out, found.len() as u64);
            found.iter().for_each(|found| put_found(found, out));
        }
        Ask::Done { batch, tally, children } => {
            out.push(DONE);
            put_u128(out, *batch);
            out.push(u8::from(tally.is_some()));
            if let Some(tally) = tally {
                put_tally(tally, out);
            }
            put_var(out, children.len() as u64);
            children.iter().for_each(|id| put_u128(out, *id));
        }
        Ask::Totals => out.push(TOTALS),
        Ask::Parents { records } => {
            out.push(PARENTS);
            put_var(out, records.len() as u64);
            records.iter().for_each(|record| put_var(out, *record));
        }
    }
}

/// Reads a request of this job.
pub(crate) fn read_request(codec: &Codec, message: &[u8]) -> Option<Vec<Ask>> {
    let mut reader = Reader::new(message);
    if reader.u64()? != codec.tag() {
        return None;
    }
    let mut asks = Vec::new();
    while !reader.is_empty() {
        asks.push(read_ask(codec, &mut reader)?);
    }
    Some(asks)
}

/// Reads one section of a request.
pub(crate) fn read_ask(codec: &Codec, reader: &mut Reader<'_>) -> Option<Ask> {
    Some(match reader.u8()? {
        CLAIM => {
            let (batch, level) = (reader.u128()?, reader.u32()?);
            let count = reader.count(1)?;
            let mut keys = Vec::with_capacity(count * codec.key.words);
            let mut packer = Packer::keys(codec);
            for _ in 0..count {
                if !packer.take(reader, codec.key, &mut keys) {
                    return None;
                }
            }
            Ask::Claim { batch, level, keys }
        }
        RECORD => {
            let batch = reader.u128()?;
            let parents = read_parents(reader)?;
            let count = reader.count(1)?;
            let found: Option<_> = (0..count).map(|_| read_found(reader)).collect();
            Ask::Record { batch, parents, found: found? }
        }
        DONE => {
            let batch = reader.u128()?;
            let tally = match reader.u8()? {
                0 => None,
                _ => Some(Box::new(read_tally(reader)?)),
            };
            let count = reader.count(16)?;
            let children: Option<_> = (0..count).map(|_| reader.u128()).collect();
            Ask::Done { batch, tally, children: children? }
        }
        TOTALS => Ask::Totals,
        PARENTS => {
            let count = reader.count(1)?;
            let records: Option<_> = (0..count).map(|_| reader.var()).collect();
            Ask::Parents { records: records? }
        }
        _ => return None,
    })
}

/// Runs of records that follow each other, as those of new states do: where each begins and how long it
/// is, then where its states came from.
fn put_parents(parents: &[Parent], out: &mut Vec<u8>) {
    put_var(out, parents.len() as u64);
    let (mut record, mut from) = (0, 0);
    for run in parents.chunk_by(|a, b| b.record == a.record.wrapping_add(1)) {
        put_var(out, zigzag(record, run[0].record));
        put_var(out, run.len() as u64);
        for parent in run {
            put_var(out, zigzag(from, parent.from));
            put_var(out, u64::from(parent.label.0));
            (record, from) = (parent.record, parent.from);
        }
    }
}

fn read_parents(reader: &mut Reader<'_>) -> Option<Vec<Parent>> {
    let count = reader.count(2)?;
    let (mut record, mut from) = (0, 0);
    let mut parents = Vec::with_capacity(count);
    while parents.len() < count {
        record = unzigzag(record, reader.var()?);
        let run = reader.var()?;
        if run == 0 || run > (count - parents.len()) as u64 {
            return None;
        }
        for i in 0..run {
            from = unzigzag(from, reader.var()?);
            let label = Label(u32::try_from(reader.var()?).ok()?);
            record = if i == 0 { record } else { record.wrapping_add(1) };
            parents.push(Parent { record, from, label });
        }
    }
    Some(parents)
}

/// Appends a violation.
pub(crate) fn put_found(found: &Found, out: &mut Vec<u8>) {
    put_u64(out, found.at);
    put_u32(out, found.depth);
    put_var(out, found.label.map_or(0, |label| u64::from(label.0) + 1));
    match found.kind {
        ViolationKind::Deadlock => out.push(0),
        ViolationKind::Property(number) => {
            out.push(1);
            put_u32(out, number);
        }
        ViolationKind::Fault(fault) => {
            out.push(2);
            put_u32(out, u32::from(fault.kind));
            put_u32(out, fault.site);
            put_u64(out, fault.value as u64);
        }
    }
}

/// Reads a violation.
pub(crate) fn read_found(reader: &mut Reader<'_>) -> Option<Found> {
    let (at, depth) = (reader.u64()?, reader.u32()?);
    let label = match reader.var()? {
        0 => None,
        coded => Some(Label(u32::try_from(coded - 1).ok()?)),
    };
    let kind = match reader.u8()? {
        0 => ViolationKind::Deadlock,
        1 => ViolationKind::Property(reader.u32()?),
        2 => {
            let kind = u16::try_from(reader.u32()?).ok()?;
            let (site, value) = (reader.u32()?, reader.u64()? as i64);
            ViolationKind::Fault(Fault { kind, site, value })
        }
        _ => return None,
    };
    Some(Found { at, label, kind, depth })
}

fn put_tally(tally: &Tally, out: &mut Vec<u8>) {
    for number in [tally.transitions, tally.passed, tally.cut] {
        put_var(out, number);
    }
    for numbers in [&tally.fired, &tally.fresh, &tally.goals] {
        put_var(out, numbers.len() as u64);
        numbers.iter().for_each(|number| put_var(out, *number));
    }
}

fn read_tally(reader: &mut Reader<'_>) -> Option<Tally> {
    let [transitions, passed, cut] = [reader.var()?, reader.var()?, reader.var()?];
    let mut list = || -> Option<Vec<u64>> {
        let count = reader.count(1)?;
        (0..count).map(|_| reader.var()).collect()
    };
    let [fired, fresh, goals] = [list()?, list()?, list()?];
    Some(Tally { transitions, fired, fresh, goals, passed, cut })
}

/// Writes the answers to the sections of a request.
pub(crate) fn answer(codec: &Codec, answers: &[Answer]) -> Vec<u8> {
    let mut out = Vec::new();
    put_u64(&mut out, codec.tag());
    answers.iter().for_each(|answer| put_answer(answer, &mut out));
    out
}

fn put_answer(answer: &Answer, out: &mut Vec<u8>) {
    match answer {
        Answer::Standings(standings) => {
            out.push(STANDINGS);
            put_standings(standings, out);
        }
        Answer::Noted => out.push(NOTED),
        Answer::AlreadyDone => out.push(ALREADY),
        Answer::Totals(totals) => {
            out.push(TOTALS);
            // Rare and many-sided: not worth a format of its own.
            put_text(&serde_json::to_string(totals).unwrap_or_default(), out);
        }
        Answer::Parents(parents) => {
            out.push(PARENTS);
            put_var(out, parents.len() as u64);
            for (from, label) in parents {
                put_u64(out, *from);
                put_u32(out, label.0);
            }
        }
        Answer::Trouble(text) => {
            out.push(TROUBLE);
            put_text(text, out);
        }
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_var(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn read_text(reader: &mut Reader<'_>) -> Option<String> {
    let count = reader.count(1)?;
    String::from_utf8(reader.bytes(count)?.to_vec()).ok()
}

/// Two bits per key, then the records of those that belong to the batch, as differences.
fn put_standings(standings: &[Standing], out: &mut Vec<u8>) {
    put_var(out, standings.len() as u64);
    for four in standings.chunks(4) {
        let mut byte = 0;
        for (i, standing) in four.iter().enumerate() {
            let code = match standing {
                Standing::Settled => 0,
                Standing::Pending => 1,
                Standing::Mine(_) => 2,
            };
            byte |= code << (2 * i);
        }
        out.push(byte);
    }
    let mut last = 0;
    for standing in standings {
        if let Standing::Mine(record) = standing {
            put_var(out, zigzag(last, *record));
            last = *record;
        }
    }
}

fn read_standings(reader: &mut Reader<'_>) -> Option<Vec<Standing>> {
    let count = usize::try_from(reader.var()?).ok()?;
    let codes = reader.bytes(count.div_ceil(4))?;
    let mut last = 0;
    let mut standings = Vec::with_capacity(count);
    for i in 0..count {
        standings.push(match codes[i / 4] >> (2 * (i % 4)) & 3 {
            0 => Standing::Settled,
            1 => Standing::Pending,
            2 => {
                last = unzigzag(last, reader.var()?);
                Standing::Mine(last)
            }
            _ => return None,
        });
    }
    Some(standings)
}

/// Reads the answers of a keeper.
pub(crate) fn read_answers(codec: &Codec, message: &[u8]) -> Option<Vec<Answer>> {
    let mut reader = Reader::new(message);
    if reader.u64()? != codec.tag() {
        return None;
    }
    let mut answers = Vec::new();
    while !reader.is_empty() {
        answers.push(read_answer(&mut reader)?);
    }
    Some(answers)
}

fn read_answer(reader: &mut Reader<'_>) -> Option<Answer> {
    Some(match reader.u8()? {
        STANDINGS => Answer::Standings(read_standings(reader)?),
        NOTED => Answer::Noted,
        ALREADY => Answer::AlreadyDone,
        TOTALS => Answer::Totals(serde_json::from_str(&read_text(reader)?).ok()?),
        PARENTS => {
            let count = reader.count(12)?;
            let parents: Option<_> =
                (0..count).map(|_| Some((reader.u64()?, Label(reader.u32()?)))).collect();
            Answer::Parents(parents?)
        }
        TROUBLE => Answer::Trouble(read_text(reader)?),
        _ => return None,
    })
}
