//! A keeper: owns a part of the visited states, and says which batch each of them belongs to.
//!
//! Invariants:
//! * a key is in the set from the moment it is first claimed; until the batch that claimed it is done it
//!   is also in `pending`, and every claim by that batch, again or at the same time, is told that the
//!   key is its own, with the same record;
//! * a batch is done at most once: what it came to is counted once, however often that is said;
//! * nothing is answered before the log knows it.
//!
//! The keeper is a function from requests to answers, without threads, clocks or sockets.

use crate::job::{Job, PROTOCOL};
use crate::keys::{Codec, Id, Mixer};
use crate::log::{Log, Owner, lock};
use crate::messages::{
    Answer, Ask, Found, LEVELS_SENT, Parent, Standing, Totals, add_id, answer, put_found,
    read_request,
};
use ergodic_disk::{Dir, DiskError};
use ergodic_system::{Block, Exhausted, PAD_WORDS, Picks, Visited};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

/// Where a keeper's keys are: any set that answers at once.
pub type Set = Box<dyn Visited + Send>;

/// Violations that are kept; one is enough to end a job, and one level may have very many.
const MOST_FOUND: usize = 256;

/// A key that belongs to a batch that is not done.
#[derive(Clone, Copy, Debug)]
struct Claimed {
    batch: Id,
    record: u64,
}

/// The shard of one keeper.
pub struct Keeper {
    codec: Codec,
    set: Set,
    log: Log,
    /// Keeps other processes from the same files.
    _lock: std::fs::File,
    pending: HashMap<Box<[u64]>, Claimed, BuildHasherDefault<Mixer>>,
    /// The pending keys of each batch that is not done, key after key.
    open: HashMap<Id, Vec<u64>, BuildHasherDefault<Mixer>>,
    done: HashSet<Id, BuildHasherDefault<Mixer>>,
    records: u64,
    /// States per level.
    levels: Vec<u64>,
    totals: Totals,
    /// Working memory.
    fresh: Picks,
    words: Vec<u64>,
}

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper").field("states", &self.records).finish_non_exhaustive()
    }
}

impl Keeper {
    /// A keeper with its files in `dir`; goes on from what is there.
    pub fn open(job: &Job, shard: u32, set: Set, dir: &Dir) -> Result<Keeper, String> {
        let codec = Codec::new(job);
        let owner = Owner {
            protocol: PROTOCOL,
            job: job.id.clone(),
            shard,
            program: job.program.clone(),
            seed: job.seed,
            key_bits: codec.key.bits,
        };
        let lock = lock(dir)?;
        let log = Log::open(dir, &owner).map_err(|why| why.to_string())?;
        let mut keeper = Keeper {
            codec,
            set,
            log,
            _lock: lock,
            pending: HashMap::default(),
            open: HashMap::default(),
            done: HashSet::default(),
            records: 0,
            levels: Vec::new(),
            totals: Totals::default(),
            fresh: Picks::new(),
            words: Vec::new(),
        };
        while let Some(asks) = keeper.log.past(&keeper.codec).map_err(|why| why.to_string())? {
            asks.into_iter().try_for_each(|ask| keeper.again(ask))?;
        }
        Ok(keeper)
    }

    /// How many states it holds.
    pub fn states(&self) -> u64 {
        self.records
    }

    /// Decides what the log says was decided.
    fn again(&mut self, ask: Ask) -> Result<(), String> {
        match ask {
            Ask::Claim { batch, level, keys } => {
                let count = keys.len() / self.codec.key.words;
                self.words.clone_from(&keys);
                self.offer().map_err(|why| exhausted(&why))?;
                if self.fresh.len() != count && self.set.losses().omission == 0.0 {
                    return Err("the log claims a state twice: it is damaged".to_string());
                }
                for key in keys.chunks_exact(self.codec.key.words) {
                    self.own(batch, level, key);
                }
            }
            Ask::Record { found, .. } => self.remember(&found),
            Ask::Done { batch, tally, children } => {
                self.finish(batch, tally.as_deref(), &children);
            }
            Ask::Totals | Ask::Parents { .. } => {}
        }
        Ok(())
    }

    /// Answers requests, in their order.
    pub fn answer(&mut self, requests: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let asks: Vec<Option<Vec<Ask>>> =
            requests.iter().map(|request| read_request(&self.codec, request)).collect();
        self.totals.rejected += asks.iter().filter(|asks| asks.is_none()).count() as u64;
        let answers = match self.totals.trouble {
            None => self.decide(&asks).unwrap_or_else(|why| {
                self.totals.trouble = Some(why);
                self.refuse(&asks)
            }),
            Some(_) => self.refuse(&asks),
        };
        let words = |(answers, asks): (&Vec<Answer>, &Option<Vec<Ask>>)| match asks {
            Some(_) => answer(&self.codec, answers),
            // Not one of ours: it is owed nothing.
            None => Vec::new(),
        };
        answers.iter().zip(&asks).map(words).collect()
    }

    /// What a keeper in trouble answers: how far it came, and why no further.
    fn refuse(&mut self, asks: &[Option<Vec<Ask>>]) -> Vec<Vec<Answer>> {
        let text = self.totals.trouble.clone().unwrap_or_default();
        let totals = self.totals();
        let refuse = |ask: &Ask| match ask {
            Ask::Totals => Answer::Totals(Box::new(totals.clone())),
            _ => Answer::Trouble(text.clone()),
        };
        let each = |asks: &Option<Vec<Ask>>| asks.iter().flatten().map(refuse).collect();
        asks.iter().map(each).collect()
    }

    fn decide(&mut self, requests: &[Option<Vec<Ask>>]) -> Result<Vec<Vec<Answer>>, String> {
        // Batches that are done first: what is claimed for them is then refused as a whole.
        for ask in requests.iter().flatten().flatten() {
            if let Ask::Done { batch, tally, children } = ask
                && self.finish(*batch, tally.as_deref(), children)
            {
                self.log.note(&self.codec, ask);
            }
        }
        let mut standings = self.claim(requests)?.into_iter();
        let mut answers = Vec::with_capacity(requests.len());
        for asks in requests {
            let mut each = Vec::new();
            for ask in asks.iter().flatten() {
                each.push(match ask {
                    Ask::Claim { batch, .. } if self.done.contains(batch) => Answer::AlreadyDone,
                    Ask::Claim { .. } => Answer::Standings(standings.next().unwrap_or_default()),
                    Ask::Record { batch, parents, found } => self.record(*batch, parents, found)?,
                    Ask::Done { .. } => Answer::Noted,
                    Ask::Totals => Answer::Totals(Box::new(self.totals())),
                    Ask::Parents { records } => self.parents(records)?,
                });
            }
            answers.push(each);
        }
        self.log.commit().map_err(|why| why.to_string())?;
        Ok(answers)
    }

    /// Asks the set about all claims at once; returns how the keys of each stand.
    fn claim(&mut self, requests: &[Option<Vec<Ask>>]) -> Result<Vec<Vec<Standing>>, String> {
        let claims = requests.iter().flatten().flatten().filter_map(|ask| match ask {
            Ask::Claim { batch, level, keys } => Some((*batch, *level, keys)),
            _ => None,
        });
        let claims: Vec<_> = claims.filter(|(batch, _, _)| !self.done.contains(batch)).collect();
        self.words.clear();
        claims.iter().for_each(|(_, _, keys)| self.words.extend_from_slice(keys));
        self.offer().map_err(|why| exhausted(&why))?;
        let fresh = std::mem::take(&mut self.fresh);
        let mut fresh_keys = fresh.iter().copied().peekable();
        let (mut position, width) = (0, self.codec.key.words);
        let mut standings = Vec::with_capacity(claims.len());
        for (batch, level, keys) in claims {
            self.open.entry(batch).or_default();
            let mut each = Vec::with_capacity(keys.len() / width);
            let mut new = Vec::new();
            for key in keys.chunks_exact(width) {
                let is_fresh = fresh_keys.next_if_eq(&position).is_some();
                position += 1;
                each.push(if is_fresh {
                    new.extend_from_slice(key);
                    Standing::Mine(self.own(batch, level, key))
                } else {
                    self.standing(batch, key)
                });
            }
            self.totals.claimed += each.len() as u64;
            if !new.is_empty() {
                self.log.note(&self.codec, &Ask::Claim { batch, level, keys: new });
            }
            standings.push(each);
        }
        self.fresh = fresh;
        Ok(standings)
    }

    /// Offers the keys in `words` to the set.
    fn offer(&mut self) -> Result<(), Exhausted> {
        let width = self.codec.key.words;
        let count = self.words.len() / width;
        self.words.resize(count * width + PAD_WORDS, 0);
        self.set.offer(Block::new(&self.words, width, count), &mut self.fresh)
    }

    /// A key that was not known belongs to a batch from now on; returns its record.
    fn own(&mut self, batch: Id, level: u32, key: &[u64]) -> u64 {
        let record = self.records;
        self.records += 1;
        let level = (level as usize).min(MOST_LEVELS);
        if self.levels.len() <= level {
            self.levels.resize(level + 1, 0);
        }
        self.levels[level] += 1;
        self.open.entry(batch).or_default().extend_from_slice(key);
        self.pending.insert(key.into(), Claimed { batch, record });
        record
    }

    /// How a key that is known stands to a batch.
    fn standing(&self, batch: Id, key: &[u64]) -> Standing {
        match self.pending.get(key) {
            Some(claimed) if claimed.batch == batch => Standing::Mine(claimed.record),
            Some(_) => Standing::Pending,
            None => Standing::Settled,
        }
    }

    fn record(&mut self, batch: Id, parents: &[Parent], found: &[Found]) -> Result<Answer, String> {
        if self.done.contains(&batch) {
            return Ok(Answer::AlreadyDone);
        }
        let known: Vec<Parent> =
            parents.iter().copied().filter(|parent| parent.record < self.records).collect();
        self.totals.rejected += (parents.len() - known.len()) as u64;
        self.log.write_parents(&known).map_err(|why| why.to_string())?;
        if !found.is_empty() {
            self.remember(found);
            let (parents, found) = (Vec::new(), found.to_vec());
            self.log.note(&self.codec, &Ask::Record { batch, parents, found });
        }
        Ok(Answer::Noted)
    }

    fn remember(&mut self, found: &[Found]) {
        for found in found {
            let mut bytes = Vec::new();
            put_found(found, &mut bytes);
            let list = &mut self.totals.found;
            if list.len() < MOST_FOUND && !list.contains(&bytes) {
                list.push(bytes);
            }
        }
    }

    /// A batch is done; `false` if that was known.
    fn finish(&mut self, batch: Id, tally: Option<&crate::Tally>, children: &[Id]) -> bool {
        if !self.done.insert(batch) {
            return false;
        }
        let keys = self.open.remove(&batch).unwrap_or_default();
        for key in keys.chunks_exact(self.codec.key.words) {
            self.pending.remove(key);
        }
        if let Some(tally) = tally {
            self.totals.tally.add(tally);
            add_id(&mut self.totals.done, batch);
            children.iter().for_each(|child| add_id(&mut self.totals.promised, *child));
        }
        true
    }

    fn parents(&self, records: &[u64]) -> Result<Answer, String> {
        let known = records.iter().filter(|record| **record < self.records);
        let parents: Result<_, _> = known.map(|record| self.log.parent(*record)).collect();
        parents.map(Answer::Parents).map_err(|why: DiskError| why.to_string())
    }

    fn totals(&self) -> Totals {
        let (coverage, losses) = (self.set.coverage(), self.set.losses());
        let first_level = self.levels.len().saturating_sub(LEVELS_SENT);
        Totals {
            states: self.records,
            levels: self.levels[first_level..].to_vec(),
            first_level,
            bytes: coverage.bytes,
            log_bytes: self.log.bytes(),
            pending: self.pending.len() as u64,
            omission: losses.omission,
            path_omission: losses.path_omission,
            ..self.totals.clone()
        }
    }
}

/// Levels that are counted apart; a stranger's claim must not make the list as long as it likes.
const MOST_LEVELS: usize = 1 << 20;

fn exhausted(why: &Exhausted) -> String {
    match why {
        Exhausted::Memory { limit } => format!(
            "a keeper's memory of {limit} bytes is used up: give it more with --memory, use more \
             keepers, or --store disk"
        ),
        Exhausted::Other(text) => text.clone(),
    }
}
