//! Checkpoints: a run on disk, with everything that it takes to go on.
//!
//! A checkpoint directory holds the file `CURRENT`, which names the directory beside it that holds the
//! valid checkpoint: `run.json` (format, version, the text of the model, the options, and the names,
//! sizes and checksums of the other files) and what the search wrote. A new checkpoint is written to a
//! directory of its own; only when all of it is safe on disk `CURRENT` is replaced, in one step, and
//! the old one removed. So whenever the process or the machine dies, there is the last checkpoint or
//! the one before it, whole.
//!
//! Reading trusts nothing: sizes and checksums are compared before anything is loaded, the model is
//! translated again, and its translation must be the one that was saved.

use crate::check::Earlier;
use crate::load::Model;
use crate::options::{CheckOptions, LoadOptions};
use ergodic_disk::{Dir, DiskError};
use ergodic_search::{Resume, Saver};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Names the valid checkpoint.
const CURRENT: &str = "CURRENT";
/// Describes a checkpoint.
const RUN: &str = "run.json";
/// What the description begins with.
const FORMAT: &str = "ergodic checkpoint";
/// Grows when the description changes its meaning.
const VERSION: u32 = 2;

/// What `run.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Description {
    format: String,
    version: u32,
    tool: String,
    /// The name of the model, as given.
    model: String,
    text: String,
    load: LoadOptions,
    check: CheckOptions,
    /// Of the translated model.
    program: String,
    /// Seconds spent before.
    seconds: f64,
    /// Runs with other hash functions that ended before this one began.
    earlier: Earlier,
    files: Vec<Listed>,
}

/// A file of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Listed {
    name: String,
    bytes: u64,
    checksum: u32,
}

/// A number that differs for different programs and states, in all likelihood.
fn fingerprint(model: &Model) -> String {
    let text = crate::identity_text(model);
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}-{}", text.len())
}

/// Keeps the checkpoints of one run.
pub(crate) struct Keeper {
    root: Dir,
    description: Description,
    every: Option<Duration>,
    began: Instant,
    saved: Instant,
    /// Questions between two looks at the clock.
    asked: u32,
    number: u64,
    begun: Option<Dir>,
    /// Checkpoints made.
    pub(crate) made: u64,
    /// Why the last attempt failed, unless a later one succeeded.
    pub(crate) trouble: Option<String>,
}

impl Keeper {
    /// Checkpoints of this run will be in the directory that the options name.
    pub(crate) fn new(
        path: &Path,
        model: &Model,
        check: &CheckOptions,
        earlier: Earlier,
        seconds: f64,
    ) -> Result<Keeper, DiskError> {
        let root = Dir::at(path)?;
        let number = match current(path) {
            Ok(name) => name.strip_prefix("checkpoint-").and_then(|n| n.parse().ok()).unwrap_or(0),
            Err(_) => 0,
        };
        let text = model.sources.text(ergodic_diag::SourceId(0)).to_string();
        let description = Description {
            format: FORMAT.to_string(),
            version: VERSION,
            tool: concat!("ergodic ", env!("CARGO_PKG_VERSION")).to_string(),
            model: model.name.clone(),
            text,
            load: model.options.clone(),
            check: check.clone(),
            program: fingerprint(model),
            seconds,
            earlier,
            files: Vec::new(),
        };
        let now = Instant::now();
        Ok(Keeper {
            root,
            description,
            every: check.checkpoint_every,
            began: now,
            saved: now,
            asked: 0,
            number,
            begun: None,
            made: 0,
            trouble: None,
        })
    }

    fn write_description(&mut self, dir: &Dir) -> Result<(), DiskError> {
        let mut description = self.description.clone();
        description.seconds += self.began.elapsed().as_secs_f64();
        description.files = listed(dir.path())?;
        let text = serde_json::to_string_pretty(&description)
            .map_err(|e| DiskError::damaged(dir.path(), e.to_string()))?;
        dir.replace(RUN, text.as_bytes())
    }
}

impl Saver for Keeper {
    fn due(&mut self) -> bool {
        let Some(every) = self.every else { return false };
        self.asked += 1;
        if self.asked < 16 {
            return false;
        }
        self.asked = 0;
        let due = self.saved.elapsed() >= every;
        if due {
            self.saved = Instant::now();
        }
        due
    }

    fn begin(&mut self) -> Result<Dir, DiskError> {
        self.number += 1;
        let path = self.root.path().join(format!("checkpoint-{}", self.number));
        if path.exists() {
            // Left by a run that was killed while it wrote.
            let removed = self.root.device().remove_dir(&path);
            removed.map_err(|e| DiskError::io("remove", &path, &e))?;
        }
        let dir = Dir::at(&path)?;
        self.begun = Some(dir.clone());
        Ok(dir)
    }

    fn commit(&mut self) -> Result<(), DiskError> {
        let Some(dir) = self.begun.take() else { return Ok(()) };
        self.write_description(&dir)?;
        let before = current(self.root.path()).ok();
        let name = format!("checkpoint-{}", self.number);
        self.root.replace(CURRENT, name.as_bytes())?;
        if let Some(before) = before.filter(|before| *before != name) {
            // It does no harm where it is.
            let _ = self.root.device().remove_dir(&self.root.path().join(before));
        }
        (self.made, self.saved, self.trouble) = (self.made + 1, Instant::now(), None);
        Ok(())
    }

    fn failed(&mut self, why: String) {
        if let Some(dir) = self.begun.take() {
            let _ = self.root.device().remove_dir(dir.path());
        }
        self.trouble = Some(why);
    }
}

/// The name of the valid checkpoint in a directory.
fn current(path: &Path) -> Result<String, DiskError> {
    let file = path.join(CURRENT);
    let read = std::fs::read_to_string(&file);
    let name = read.map_err(|e| DiskError::io("read", &file, &e))?;
    let name = name.trim();
    let plain = name.strip_prefix("checkpoint-").is_some_and(|n| n.parse::<u64>().is_ok());
    if !plain {
        return Err(DiskError::damaged(&file, "it does not name a checkpoint"));
    }
    Ok(name.to_string())
}

/// All files of a checkpoint but its description.
fn listed(path: &Path) -> Result<Vec<Listed>, DiskError> {
    let error = |e: std::io::Error| DiskError::io("list", path, &e);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(error)? {
        let name = entry.map_err(error)?.file_name().to_string_lossy().into_owned();
        if name != RUN {
            let (bytes, checksum) = checksum(&path.join(&name))?;
            files.push(Listed { name, bytes, checksum });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn checksum(path: &Path) -> Result<(u64, u32), DiskError> {
    let error = |e: std::io::Error| DiskError::io("read", path, &e);
    let mut file = std::fs::File::open(path).map_err(error)?;
    let mut sum = ergodic_disk::frames::Checksum::default();
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer).map_err(error)? {
            0 => return Ok((bytes, sum.finish())),
            n => {
                sum.add(&buffer[..n]);
                bytes += n as u64;
            }
        }
    }
}

/// A saved run.
#[derive(Debug)]
pub struct Saved {
    /// Name of the model, as it was given.
    pub name: String,
    /// Its text.
    pub text: String,
    /// How it was read.
    pub load: LoadOptions,
    /// How it was checked.
    pub check: CheckOptions,
    /// Seconds spent before.
    pub seconds: f64,
    /// Which version of the program saved it.
    pub tool: String,
    pub(crate) earlier: Earlier,
    program: String,
    /// Where it is.
    pub(crate) dir: PathBuf,
}

impl Saved {
    /// Opens the valid checkpoint of a directory and compares all of its files with their checksums.
    pub fn open(path: &Path) -> Result<Saved, String> {
        let name = current(path).map_err(|why| {
            if path.is_dir() && !path.join(CURRENT).exists() {
                format!("there is no checkpoint in {}", path.display())
            } else {
                why.to_string()
            }
        })?;
        let dir = path.join(name);
        let file = dir.join(RUN);
        let text = std::fs::read_to_string(&file)
            .map_err(|e| DiskError::io("read", &file, &e).to_string())?;
        let damaged = |what: String| DiskError::damaged(&file, what).to_string();
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
        if value["format"] != FORMAT {
            return Err(damaged("it does not describe a checkpoint".to_string()));
        }
        if value["version"] != VERSION {
            let (theirs, tool) = (&value["version"], &value["tool"]);
            let what = format!("it is of version {theirs} ({tool}); this program reads {VERSION}");
            return Err(damaged(what));
        }
        let run: Description = serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
        let found = listed(&dir).map_err(|why| why.to_string())?;
        for listed in &run.files {
            match found.iter().find(|file| file.name == listed.name) {
                None => return Err(damaged(format!("the file {} is missing", listed.name))),
                Some(file) if file != listed => {
                    let what = format!("the file {} is not the one that was saved", listed.name);
                    return Err(damaged(what));
                }
                Some(_) => {}
            }
        }
        Ok(Saved {
            name: run.model,
            text: run.text,
            load: run.load,
            check: run.check,
            seconds: run.seconds,
            tool: run.tool,
            earlier: run.earlier,
            program: run.program,
            dir,
        })
    }

    /// The search, if it belongs to this model.
    pub(crate) fn resume(&self, model: &Model) -> Result<Resume, String> {
        if fingerprint(model) != self.program {
            return Err(format!(
                "the checkpoint in {} was made by {}, which translates the model differently",
                self.dir.display(),
                self.tool
            ));
        }
        let dir = Dir::at(&self.dir).map_err(|why| why.to_string())?;
        Resume::open(&dir).map_err(|why| why.to_string())
    }
}
