//! Processes that a job starts on its own computer, and starts again when they die.

use super::{Stop, lock};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, Thread};
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

/// How often the processes are looked after.
const EVERY: Duration = Duration::from_millis(100);
/// Whoever waits in vain gets so long to notice it himself.
const GRACE: Duration = Duration::from_secs(2);

/// Tends the processes on a thread of its own: the coordinator, who waits for the answer of a keeper,
/// cannot start it again. Ends that waiting when it is in vain.
pub(super) struct Nurse<'a, 'c> {
    staff: &'a Mutex<Staff<'c>>,
    stop: &'a Stop,
    /// Whether the job is to end anyway.
    vain: &'a (dyn Fn() -> bool + Sync),
    off: AtomicBool,
    lost: Mutex<Option<String>>,
}

/// Sends the nurse home, whatever happens.
pub(super) struct OnDuty<'a>(&'a AtomicBool, Thread);

impl Drop for OnDuty<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        self.1.unpark();
    }
}

impl<'a, 'c> Nurse<'a, 'c> {
    pub(super) fn new(
        staff: &'a Mutex<Staff<'c>>,
        stop: &'a Stop,
        vain: &'a (dyn Fn() -> bool + Sync),
    ) -> Nurse<'a, 'c> {
        Nurse { staff, stop, vain, off: AtomicBool::new(false), lost: Mutex::new(None) }
    }

    /// Begins; ends with what is returned.
    pub(super) fn on_duty<'s>(&'s self, scope: &'s Scope<'s, '_>) -> Result<OnDuty<'s>, String> {
        let thread = std::thread::Builder::new().name("nurse".to_string());
        match thread.spawn_scoped(scope, || self.tend()) {
            Ok(nurse) => Ok(OnDuty(&self.off, nurse.thread().clone())),
            Err(why) => Err(format!("the system gives no more threads: {why}")),
        }
    }

    /// Who could not be kept alive, if anybody.
    pub(super) fn lost(&self) -> Option<String> {
        lock(&self.lost).clone()
    }

    fn tend(&self) {
        let mut vain_since = None;
        while !self.off.load(Ordering::SeqCst) {
            let tended = lock(self.staff).tend();
            if let Err(why) = tended {
                *lock(&self.lost) = Some(why);
                return self.stop.ask();
            }
            if !(self.vain)() {
                vain_since = None;
            } else if vain_since.get_or_insert_with(Instant::now).elapsed() > GRACE {
                return self.stop.ask();
            }
            std::thread::park_timeout(EVERY);
        }
    }
}
