//! Processes that a job starts on its own computer, and starts again when they die.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// Starts processes: only the command line knows how this program is called.
pub trait Crew: Send {
    /// A keeper of a shard, with its files in a directory.
    fn keeper(&mut self, job: &str, shard: u32, dir: &Path) -> std::io::Result<Child>;

    /// A worker.
    fn worker(&mut self, job: &str) -> std::io::Result<Child>;
}

/// A process that dies so often within [`SOON`] is not started again.
const MOST_DEATHS: u32 = 5;
const SOON: Duration = Duration::from_secs(10);

enum Role {
    Keeper { shard: u32, dir: PathBuf },
    Worker,
}

struct Member {
    role: Role,
    child: Option<Child>,
    started: Instant,
    deaths: u32,
}

/// The processes of a job.
pub(super) struct Staff<'c> {
    crew: &'c mut dyn Crew,
    job: String,
    members: Vec<Member>,
    /// How often a process was started again.
    pub restarts: u64,
    pub notes: Vec<String>,
}

impl<'c> Staff<'c> {
    pub(super) fn new(crew: &'c mut dyn Crew, job: &str) -> Staff<'c> {
        Staff { crew, job: job.to_string(), members: Vec::new(), restarts: 0, notes: Vec::new() }
    }

    pub(super) fn keeper(&mut self, shard: u32, dir: PathBuf) -> Result<(), String> {
        self.add(Role::Keeper { shard, dir })
    }

    pub(super) fn worker(&mut self) -> Result<(), String> {
        self.add(Role::Worker)
    }

    fn start(&mut self, role: &Role) -> Result<Child, String> {
        let started = match role {
            Role::Keeper { shard, dir } => self.crew.keeper(&self.job, *shard, dir),
            Role::Worker => self.crew.worker(&self.job),
        };
        started.map_err(|why| format!("cannot start another process of this program: {why}"))
    }

    fn add(&mut self, role: Role) -> Result<(), String> {
        let child = Some(self.start(&role)?);
        self.members.push(Member { role, child, started: Instant::now(), deaths: 0 });
        Ok(())
    }

    /// Starts again whoever has died. It is an error if somebody will not live.
    pub(super) fn tend(&mut self) -> Result<(), String> {
        let mut members = std::mem::take(&mut self.members);
        let mut result = Ok(());
        for member in &mut members {
            let Some(child) = &mut member.child else { continue };
            let Ok(Some(status)) = child.try_wait() else { continue };
            member.child = None;
            member.deaths = if member.started.elapsed() < SOON { member.deaths + 1 } else { 1 };
            let who = match &member.role {
                Role::Keeper { shard, .. } => format!("keeper {shard}"),
                Role::Worker => "a worker of this computer".to_string(),
            };
            if member.deaths >= MOST_DEATHS {
                let lost =
                    format!("{who} died {MOST_DEATHS} times in a row, at last with {status}");
                match member.role {
                    Role::Keeper { .. } => result = Err(lost),
                    // Others go on.
                    Role::Worker => self.notes.push(lost),
                }
                continue;
            }
            self.notes.push(format!("{who} ended with {status} and was started again"));
            self.restarts += 1;
            match self.start(&member.role) {
                Ok(child) => member.child = Some(child),
                Err(why) => result = Err(why),
            }
            member.started = Instant::now();
        }
        self.members = members;
        result
    }
}

impl Drop for Staff<'_> {
    fn drop(&mut self) {
        // They have been told that the job is over, and get a moment to leave.
        let deadline = Instant::now() + Duration::from_secs(2);
        for child in self.members.iter_mut().filter_map(|member| member.child.as_mut()) {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
