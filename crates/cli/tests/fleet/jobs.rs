//! Jobs as things that are listed, cancelled and abandoned, and the processes that belong to them.

use super::models::COUNTERS;
use super::run::{BAD_INPUT, Fleet, HOLDS, INCOMPLETE, Run, check, live};
use ergodic_testkit::broker::{Scratch, eventually, nats_server};
use rustix::process::Signal;

/// So many states that no job is over before something happens to it.
const ENDLESS: &[&str] = &["--deadlock", "off", "--const", "MANY=60"];

/// Processes other than this one whose command line or working directory contains a text.
pub fn processes(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").expect("processes").flatten() {
        let path = process.path();
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let dir = std::fs::read_link(path.join("cwd")).unwrap_or_default();
        // What has ended and was not waited for has no command line.
        if line.contains(text) || (dir.display().to_string().contains(text) && !line.is_empty()) {
            found.push(line);
        }
    }
    found
}

fn workers(run: &Run) -> usize {
    live(run).and_then(|live| live["workers"].as_array().map(Vec::len)).unwrap_or(0)
}

#[test]
fn jobs_are_listed_and_cancelled() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    assert!(fleet.jobs().is_empty());
    fleet.start("jobs", &[]).wait().complaint(HOLDS, &["no jobs"]);
    fleet
        .start("cancel", &["nosuchjob"])
        .wait()
        .complaint(BAD_INPUT, &["there is no job nosuchjob", "ergodic jobs"]);
    fleet.start("cancel", &["../x y"]).wait().complaint(BAD_INPUT, &["there is no job"]);

    // Nobody works for it, so it stays for as long as we like.
    let serve = fleet.serve(&model, ENDLESS);
    let id = fleet.job();
    fleet.start("jobs", &[]).wait().complaint(HOLDS, &[&id, "counters.m", "0 workers"]);
    let listed = fleet.jobs();
    assert_eq!(listed[0]["status"]["job"], id.as_str());
    eventually("it waits", || fleet.jobs()[0]["status"]["phase"] == "waiting_for_workers");

    fleet.start("cancel", &[&id]).wait().complaint(HOLDS, &["is being cancelled"]);
    let report = serve.wait().report(INCOMPLETE);
    assert_eq!(report["reason"], "interrupted");
    assert!(fleet.jobs().is_empty());
    eventually("its processes are gone", || processes(&format!("--job {id} ")).is_empty());
}

/// Whoever waits says for whom, also where nobody sees a board.
#[test]
fn waiting_is_said() {
    let Some(fleet) = Fleet::new() else { return };
    let worker = fleet.work(&["--job", "nosuchjob"]);
    eventually("it says so", || worker.err().contains("waiting for job nosuchjob; `ergodic jobs`"));
    let keeper = fleet.start("keep", &["--dir", &fleet.dir.path("k"), "--job", "nosuchjob"]);
    eventually("it says so", || keeper.err().contains("job nosuchjob to want a keeper"));
    keeper.signal(Signal::INT);
    let keeper = keeper.wait();
    keeper.complaint(INCOMPLETE, &["stopped"]);
    assert!(!keeper.err.contains("to go on"), "it has kept nothing: {}", keeper.err);

    let model = fleet.dir.file("counters.m", COUNTERS);
    let serve = fleet.start("serve", &[&model, "--deadlock", "off", "--const", "MANY=4"]);
    eventually("it says so", || serve.err().contains("waiting for workers: start `ergodic work`"));
    let id = fleet.job();
    assert!(serve.err().contains(&format!("job {id}: ")), "{}", serve.err());
    // Who works for one job only ends with it.
    let worker = fleet.work(&["--job", &id]);
    serve.wait().complaint(HOLDS, &["holds"]);
    worker.wait().complaint(HOLDS, &["the job is over"]);
}

/// A job that waits for a keeper who never comes can be cancelled, too, and its time limit holds.
#[test]
fn a_job_without_keepers_is_cancelled() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let elsewhere = [&["--keepers", "0", "--remote-keepers", "1"][..], ENDLESS].concat();
    let serve = fleet.serve(&model, &elsewhere);
    let id = fleet.job();
    fleet.start("cancel", &[&id]).wait().complaint(HOLDS, &["is being cancelled"]);
    serve.wait().report(INCOMPLETE);

    let limited = [&elsewhere[..], &["--time-limit", "1"]].concat();
    let report = fleet.serve(&model, &limited).wait().report(INCOMPLETE);
    assert!(report["reason"].as_str().is_some_and(|why| why.contains("time")), "{report:#}");

    // A keeper that comes, and goes for good in the middle of the job.
    let serve = fleet.serve(&model, &elsewhere);
    let mut keeper = fleet.start("keep", &["--dir", &fleet.dir.path("gone")]);
    let _worker = fleet.work(&["--once"]);
    eventually("somebody works", || live(&serve).is_some_and(|live| live["states"] != 0));
    keeper.kill();
    let id = fleet.job();
    fleet.start("cancel", &[&id]).wait().complaint(HOLDS, &["is being cancelled"]);
    serve.wait().report(INCOMPLETE);
    assert!(fleet.jobs().is_empty());
}

#[test]
fn an_interrupted_job_leaves_nothing() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let disk = fleet.dir.path("disk");
    let args = [&["--workers", "1", "--keepers", "2", "--disk", &disk][..], ENDLESS].concat();
    for which in [Signal::INT, Signal::TERM] {
        let serve = fleet.serve(&model, &args);
        eventually("somebody works", || workers(&serve) == 1);
        let id = fleet.job();
        assert_eq!(processes(&format!("--job {id} ")).len(), 3);
        serve.signal(which);
        let report = serve.wait().report(INCOMPLETE);
        assert_eq!(report["reason"], "interrupted");
        assert!(report["states"].as_u64() > Some(0), "{report:#}");
        assert!(fleet.jobs().is_empty(), "the job is withdrawn");
        assert!(!fleet.has_queue(&id), "its queue is deleted");
        eventually("its processes are gone", || processes(&format!("--job {id} ")).is_empty());
        assert_eq!(std::fs::read_dir(&disk).expect("a directory").count(), 0);
    }
}

/// A coordinator that is killed takes its processes with it, and its job can be removed.
#[test]
fn an_abandoned_job_is_cancelled() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let args = [&["--workers", "2", "--keepers", "2"][..], ENDLESS].concat();
    let mut serve = fleet.serve(&model, &args);
    eventually("somebody works", || workers(&serve) > 0);
    let id = fleet.job();
    assert_eq!(processes(&format!("--job {id} ")).len(), 4);
    serve.kill();
    eventually("its processes are gone", || processes(&format!("--job {id} ")).is_empty());

    let listed = fleet.jobs();
    assert_eq!(listed[0]["id"], id.as_str());
    assert!(listed[0]["status"].is_null());
    fleet.start("jobs", &[]).wait().complaint(HOLDS, &[&id, "nobody serves it"]);
    // Somebody who came for this job learns that it is over when it is removed.
    let worker = fleet.work(&["--job", &id, "--once"]);
    eventually("it joins", || worker.err().contains("compiled"));
    let alone = format!("job {id} is served by nobody: ");
    eventually("it says that it waits in vain", || worker.err().contains(&alone));
    assert!(
        worker.err().contains(&format!("`ergodic cancel {id}` removes it")),
        "{}",
        worker.err()
    );
    fleet.start("cancel", &[&id]).wait().complaint(HOLDS, &["served by nobody and is removed"]);
    worker.wait().complaint(HOLDS, &["the job is over"]);
    assert!(fleet.jobs().is_empty());
    assert!(!fleet.has_queue(&id));
    // And it does not stand in the way of the next one.
    let shared = ["--deadlock", "off", "--const", "MANY=4"];
    let (code, expected) = check(&fleet.dir, &model, &shared);
    let report =
        fleet.serve(&model, &[&["--workers", "1"][..], &shared].concat()).wait().report(code);
    assert_eq!(report["states"], expected["states"]);
}

/// Workers do not wait for the coordinator of one job while another one has work for them.
#[test]
fn an_abandoned_job_does_not_keep_workers() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let args = [&["--redeliver-after", "1s"][..], ENDLESS].concat();
    let mut serve = fleet.serve(&model, &args);
    let id = fleet.job();
    let one = fleet.work(&[]);
    eventually("somebody works", || workers(&serve) > 0);
    serve.kill();
    // One has joined it, and one comes when the server knows, and never does.
    let says = |worker: &Run, what: &str| {
        eventually(what, || worker.err().contains(&format!("job {id} is {what}")));
    };
    says(&one, "served by nobody");
    let two = fleet.work(&[]);
    says(&two, "served by nobody");
    says(&one, "left to itself");
    assert!(!two.err().contains("compiled"), "{}", two.err());

    let shared = ["--deadlock", "off", "--const", "MANY=4"];
    let (code, expected) = check(&fleet.dir, &model, &shared);
    let report = fleet.serve(&model, &shared).wait().report(code);
    assert_eq!(report["states"], expected["states"]);
    for worker in [one, two] {
        assert_eq!(worker.err().matches("served by nobody").count(), 1, "{}", worker.err());
        worker.signal(Signal::INT);
        worker.wait();
    }
    fleet.start("cancel", &[&id]).wait().complaint(HOLDS, &["is removed"]);
}

/// With a server of its own, everything goes with the coordinator.
#[test]
fn a_server_of_our_own_does_not_stay() {
    if nats_server().is_none() {
        return;
    }
    let dir = Scratch::new("own");
    let model = dir.file("counters.m", COUNTERS);
    let disk = dir.path("own");
    std::fs::create_dir_all(&disk).expect("a directory");
    let fixed = ["serve", &model, "--nats", "embedded", "--disk", &disk, "--format", "json"];
    let start = |more: &[&str]| Run::start(&dir, &[&fixed[..], &["--live", "json"], more].concat());

    // To its end.
    let shared = ["--deadlock", "off", "--const", "MANY=4"];
    let (code, expected) = check(&dir, &model, &shared);
    let report = start(&shared).wait().report(code);
    assert_eq!(report["states"], expected["states"]);
    eventually("all are gone", || processes(&disk).is_empty());

    for which in [Signal::KILL, Signal::INT] {
        let run = start(&[&["--workers", "2", "--keepers", "2"][..], ENDLESS].concat());
        eventually("somebody works", || workers(&run) > 0);
        let id = live(&run).expect("a line")["job"].as_str().expect("a name").to_string();
        let server = "nats-server -c server.conf";
        assert!(processes(&disk).iter().any(|line| line.contains(server)), "it has a server");
        run.signal(which);
        let ended = run.wait();
        assert_eq!(ended.code, if which == Signal::INT { Some(INCOMPLETE) } else { None });
        eventually("all are gone", || {
            processes(&disk).is_empty() && processes(&format!("--job {id} ")).is_empty()
        });
        // A killed coordinator cannot remove the directories of its keepers.
        let kept = std::fs::read_dir(&disk).expect("a directory").flatten();
        let storage = kept.flat_map(|serve| std::fs::read_dir(serve.path()).into_iter().flatten());
        let keepers = |name: &str| name.starts_with("keeper-") || name == "owner";
        let names = storage.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let storage: Vec<String> = names.filter(|name| !keepers(name)).collect();
        assert!(storage.is_empty(), "the server's storage goes with it: {storage:?}");
        // The next one does.
        let knows = std::path::Path::new("/proc/sys/kernel/random/boot_id").exists();
        if which == Signal::INT && knows {
            assert!(
                ended.out.contains("removed what runs that were killed had left"),
                "{}",
                ended.out
            );
            assert_eq!(std::fs::read_dir(&disk).expect("a directory").count(), 0);
        }
    }
}
