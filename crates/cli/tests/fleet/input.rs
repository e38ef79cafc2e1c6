//! What does not make sense is refused in words, counted, and changes no result: servers that are not
//! there or do not want us, jobs of others, and whatever strangers send.

use super::models::{COUNTERS, shipped};
use super::run::{BAD_INPUT, Ended, Fleet, HOLDS, INCOMPLETE, Run, check};
use ergodic_testkit::broker;
use ergodic_testkit::broker::{Raw, Scratch, Server, eventually, nats_server};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

/// A small model, and a large one: the small one ends in a moment.
const SMALL: &[&str] = &["--deadlock", "off", "--const", "MANY=4"];
const LARGE: &[&str] = &["--deadlock", "off", "--const", "MANY=5"];

/// Every command that talks to a server, with these options and variables.
fn everybody(
    dir: &Scratch,
    model: &str,
    options: &[&str],
    variables: &[(&str, &str)],
) -> Vec<Ended> {
    let kept = dir.path("kept");
    let commands: [&[&str]; 5] = [
        &["serve", model, "--workers", "1"],
        &["work", "--once"],
        &["keep", "--dir", &kept],
        &["jobs"],
        &["cancel", "abc"],
    ];
    let start = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ergodic"));
        command.envs(variables.iter().copied());
        Run::start_with(dir, command, &[args, options].concat())
    };
    let runs: Vec<Run> = commands.iter().map(|args| start(args)).collect();
    runs.into_iter().map(|run| run.wait()).collect()
}

#[test]
fn servers_that_cannot_be_used() {
    let dir = Scratch::new("input");
    let model = dir.file("counters.m", COUNTERS);
    // Nobody listens on the port of tcpmux.
    for ended in everybody(&dir, &model, &["--nats", "nats://127.0.0.1:1"], &[]) {
        ended.complaint(
            BAD_INPUT,
            &["cannot reach the NATS server at nats://127.0.0.1:1", "nats-server -js"],
        );
    }
    for ended in everybody(&dir, &model, &["--nats", "http://127.0.0.1:1"], &[]) {
        ended.complaint(BAD_INPUT, &["http://127.0.0.1:1"]);
    }
    for ended in everybody(&dir, &model, &["--nats", ""], &[]) {
        ended.complaint(BAD_INPUT, &["NATS server"]);
    }
    let missing = Run::start(&dir, &["work"]).wait();
    missing.complaint(BAD_INPUT, &["--nats <URL>", "variable ERGODIC_NATS"]);
    let own = Run::start(&dir, &["work", "--nats", "embedded"]).wait();
    own.complaint(BAD_INPUT, &["ergodic serve", "URL"]);
    // Somebody who listens and is no NATS server.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("nats://{}", listener.local_addr().expect("an address"));
    for ended in everybody(&dir, &model, &["--nats", &url], &[]) {
        ended.complaint(BAD_INPUT, &["does not answer", &url]);
    }
}

#[test]
fn tokens() {
    let Some(fleet) = Fleet::with("authorization { token: \"opensesame\" }\n") else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let url = fleet.server.url();
    for variables in [&[][..], &[("ERGODIC_NATS_TOKEN", "openbarley")]] {
        for ended in everybody(&fleet.dir, &model, &["--nats", &url], variables) {
            ended.complaint(BAD_INPUT, &["does not accept our credentials"]);
            assert!(!ended.err.contains("barley"), "a secret is shown: {}", ended.err);
        }
    }
    // With the right one, processes that are started get it, too, and nobody can read it.
    let (code, expected) = check(&fleet.dir, &model, SMALL);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ergodic"));
    command.env("ERGODIC_NATS_TOKEN", "opensesame").env("ERGODIC_NATS", &url);
    let args = [&["serve", &model, "--workers", "1", "--format", "json"][..], SMALL].concat();
    let report = Run::start_with(&fleet.dir, command, &args).wait().report(code);
    assert_eq!(report["states"], expected["states"]);
    let inside = url.replace("nats://", "nats://opensesame@");
    let args = [&["serve", &model, "--workers", "1", "--format", "json", "--nats", &inside], SMALL];
    let ended = Run::start(&fleet.dir, &args.concat()).wait();
    assert!(!ended.err.contains("sesame"), "a secret is shown: {}", ended.err);
    assert_eq!(ended.report(code)["states"], expected["states"]);
}

#[test]
fn certificates() {
    if nats_server().is_none() {
        return;
    }
    let dir = Scratch::new("tls");
    broker::certificates(&dir);
    let ca = dir.path("ca.pem");
    let tls = "tls { cert_file: \"server.pem\", key_file: \"server.key\" }\n";
    let Some(server) = Server::inside(dir, "127.0.0.1", tls) else { return };
    let dir = Scratch::new("input");
    let model = dir.file("counters.m", COUNTERS);

    let named = format!("tls://localhost:{}", server.port);
    let other = format!("tls://127.0.0.1:{}", server.port);
    for ended in everybody(&dir, &model, &["--nats", &other, "--tls-ca", &ca], &[]) {
        ended.complaint(BAD_INPUT, &["is for another name"]);
    }
    for ended in everybody(&dir, &model, &["--nats", &named], &[]) {
        ended.complaint(BAD_INPUT, &["signed by nobody we know"]);
    }
    let (code, expected) = check(&dir, &model, SMALL);
    let fixed = ["serve", &model, "--nats", &named, "--tls-ca", &ca, "--workers", "1"];
    let args = [&fixed[..], &["--keepers", "2", "--format", "json"], SMALL].concat();
    assert_eq!(Run::start(&dir, &args).wait().report(code)["states"], expected["states"]);
}

/// The job that is registered under a name, as it was published.
fn registered(raw: &mut Raw, id: &str) -> Value {
    let question = format!("{{\"last_by_subj\":\"ergodic.jobs.{id}\"}}");
    let body = raw.ask("$JS.API.DIRECT.GET.ERGODIC_JOBS", question.as_bytes());
    serde_json::from_slice(&body).expect("a job")
}

/// Registers a job that is not quite the one that is served.
fn forge(raw: &mut Raw, job: &Value, id: &str, change: impl FnOnce(&mut Value)) {
    let mut forged = job.clone();
    forged["id"] = json!(id);
    // Of several jobs, workers take the oldest.
    forged["began"] = json!(1);
    change(&mut forged);
    raw.ask(&format!("ergodic.jobs.{id}"), forged.to_string().as_bytes());
}

/// Workers refuse jobs that they cannot do as they are meant, and go on with the others.
#[test]
fn jobs_of_others() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let (code, expected) = check(&fleet.dir, &model, SMALL);
    let serve = fleet.serve(&model, SMALL);
    let id = fleet.job();
    let mut raw = Raw::connect(&fleet.server);
    let job = registered(&mut raw, &id);

    forge(&mut raw, &job, "aversion", |job| job["version"] = json!("99.1.2"));
    forge(&mut raw, &job, "aprotocol", |job| job["protocol"] = json!(99));
    forge(&mut raw, &job, "aoption", |job| job["options"]["check"]["foresight"] = json!(true));
    forge(&mut raw, &job, "aoutside", |job| job["options"]["foresight"] = json!(true));
    forge(&mut raw, &job, "avalue", |job| job["options"]["check"]["engine"] = json!("abacus"));
    forge(&mut raw, &job, "aprogram", |job| job["program"] = json!("00000000"));
    forge(&mut raw, &job, "abits", |job| job["bits"] = json!(4_000_000_000_000_u64));
    forge(&mut raw, &job, "asource", |job| job["source"] = json!("rule rule rule"));
    forge(&mut raw, &job, "aname", |job| job["id"] = json!("somebodyelse"));
    raw.ask("ergodic.jobs.agarbage", b"\xff\x00 no json");
    raw.ask("ergodic.jobs.aempty", b"");

    let listed = fleet.start("jobs", &[]).wait();
    listed.complaint(HOLDS, &[&id, "aprotocol", "protocol 99", "agarbage", "not a job"]);
    let keeper =
        fleet.start("keep", &["--dir", &fleet.dir.path("k"), "--job", "aversion", "--shard", "0"]);
    keeper.wait().complaint(BAD_INPUT, &["99.1.2"]);

    let worker = fleet.work(&["--once"]);
    let report = serve.wait().report(code);
    assert_eq!(report["states"], expected["states"]);
    let worker = worker.wait();
    let version = env!("CARGO_PKG_VERSION");
    worker.complaint(
        HOLDS,
        &[
            "job aversion is refused: it was published by version 99.1.2",
            &format!("this is version {version}"),
            "job aprotocol is refused: it was published by version",
            "protocol 99",
            "job aoption is refused: it has options that this version does not know",
            "job aoutside is refused: its options make no sense here",
            "job avalue is refused: its options make no sense here",
            "job aprogram is refused: its model is translated to another program",
            "job abits is refused: its model is too large",
            "job asource is refused: its model has",
            "job aname is refused",
            "job agarbage is refused: not a job",
            "job aempty is refused: not a job",
            "the job is over",
        ],
    );
    for name in ["aversion", "aprotocol", "agarbage"] {
        fleet.start("cancel", &[name]).wait().complaint(HOLDS, &["is removed"]);
    }
    assert_eq!(fleet.jobs().len(), 8);
}

#[test]
fn messages_that_the_server_does_not_take() {
    let Some(fleet) = Fleet::with("max_payload: 4096\n") else { return };
    let ended = fleet.serve(&shipped("examples/german.m"), &["--workers", "1"]).wait();
    ended.complaint(BAD_INPUT, &["max_payload", "4096", "524288"]);
    assert!(fleet.jobs().is_empty());

    // The least that serves.
    let Some(fleet) = Fleet::with("max_payload: 524288\n") else { return };
    // The text of the model is longer than a message may be.
    let long = fleet.dir.file("long.m", &format!("{COUNTERS}-- {}\n", "long ".repeat(200_000)));
    let ended = fleet.serve(&long, &["--workers", "1"]).wait();
    ended.complaint(BAD_INPUT, &["max_payload", "524288"]);
    // A state is.
    let wide = "var list: array [1..400000] of 0..255; at: 0..1;\n\
                startstate begin for i: 1..400000 do list[i] := 0; end; at := 0; end;\n\
                rule \"up\" at < 1 ==> begin at := 1; end;\n";
    let wide = fleet.dir.file("wide.m", wide);
    fleet
        .serve(&wide, &["--workers", "1"])
        .wait()
        .complaint(BAD_INPUT, &["a state of", "max_payload"]);
    assert!(fleet.jobs().is_empty());
    // Batches and questions to keepers fit, however large they might be.
    let model = fleet.dir.file("counters.m", COUNTERS);
    let (code, expected) = check(&fleet.dir, &model, SMALL);
    let args =
        [&["--workers", "1", "--keepers", "2", "--batch-states", "100000"][..], SMALL].concat();
    assert_eq!(fleet.serve(&model, &args).wait().report(code)["states"], expected["states"]);
}

/// What a stranger may send: text, binary, things that look like ours, and as much as the server takes.
fn garbage() -> Vec<Vec<u8>> {
    let mut all = vec![
        b"hello".to_vec(),
        vec![0],
        vec![0xff; 7],
        b"{\"ask\":17}".to_vec(),
        b"{\"ask\":\"keep\",\"who\":-1}".to_vec(),
        b"[[[[[[[[[[[[".to_vec(),
    ];
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    for size in [100, 3000, 900 << 10] {
        let byte = |_| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            noise as u8
        };
        all.push((0..size).map(byte).collect());
        all.push(vec![b'['; size]);
    }
    all
}

/// One round of it, to all subjects of a job.
fn disturb(raw: &mut Raw, id: &str, reply: &str) {
    let subjects =
        ["work.0", "work.7", "work.x", "keep.0", "keep.1", "desk.level", "beat.stranger", "level"];
    for body in garbage() {
        for subject in subjects {
            raw.publish(&format!("ergodic.{id}.{subject}"), reply, &body);
        }
    }
    // Answers are not to be sent where they would be taken for orders.
    for subject in ["keep.0", "desk.level"] {
        let reply = format!("ergodic.{id}.over");
        raw.publish(&format!("ergodic.{id}.{subject}"), &reply, b"{\"ask\":\"status\"}");
    }
    raw.publish(&format!("ergodic.{id}.level"), "", b"{\"level\":4000000000}");
    let most = u64::MAX;
    let beat = json!({
        "threads": most, "states": most, "batches": most, "successors": most, "claimed": most,
        "claim_bytes": most, "work_bytes": most, "refused": most, "redeliveries": most,
    });
    for who in ["one", "two"] {
        let subject = format!("ergodic.{id}.beat.{who}");
        raw.publish(&subject, "", beat.to_string().as_bytes());
        raw.publish(&subject, "", b"{\"states\":-1,\"threads\":\"many\"}");
    }
    raw.settle();
}

#[test]
fn strangers_change_nothing() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let (code, expected) = check(&fleet.dir, &model, LARGE);
    for levels in ["loose", "strict"] {
        let own = ["--keepers", "2", "--levels", levels, "--batch-states", "100"];
        let mut serve = fleet.serve(&model, &[&own[..], LARGE].concat());
        let id = fleet.job();
        eventually("it waits", || fleet.jobs()[0]["status"]["phase"] == "waiting_for_workers");
        let mut raw = Raw::connect(&fleet.server);
        disturb(&mut raw, &id, "");
        let worker = fleet.work(&["--job", &id, "--once"]);
        eventually("it joins", || worker.err().contains("compiled"));
        // Not for ever: garbage that waits at the server is work until somebody has looked at it.
        for _ in 0..4 {
            if serve.running() {
                disturb(&mut raw, &id, "_INBOX.stranger.1");
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        let report = serve.wait().report(code);
        for key in ["verdict", "states", "transitions", "covers"] {
            assert_eq!(report[key], expected[key], "{levels}: {key}");
        }
        if levels == "strict" {
            assert_eq!(report["depth"], expected["depth"]);
        }
        assert!(report["figures"]["rejected"].as_f64() > Some(20.0), "{levels}: {report:#}");
        worker.wait().complaint(HOLDS, &["the job is over"]);
    }
}

#[test]
fn queues_that_are_too_small() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let (code, expected) = check(&fleet.dir, &model, SMALL);
    // One batch at a time: whoever holds it has no room for its children.
    let fixed = ["--workers", "2", "--redeliver-after", "1", "--batch-states", "50"];
    let tiny = [&fixed[..], &["--queue-bytes", "1"], SMALL].concat();
    let ended = fleet.serve(&model, &tiny).wait();
    let report = ended.report(INCOMPLETE);
    assert!(
        report["reason"].as_str().is_some_and(|why| why.contains("--queue-bytes")),
        "{report:#}"
    );
    assert!(fleet.jobs().is_empty());
    // Little room, but enough.
    let tight = [&fixed[..], &["--queue-bytes", "150K"], SMALL].concat();
    let report = fleet.serve(&model, &tight).wait().report(code);
    assert_eq!(report["states"], expected["states"]);
    assert_eq!(report["transitions"], expected["transitions"]);
}

/// A keeper does not mix the states of two jobs.
#[test]
fn directories_of_keepers() {
    let Some(fleet) = Fleet::new() else { return };
    let model = fleet.dir.file("counters.m", COUNTERS);
    let (code, expected) = check(&fleet.dir, &model, SMALL);
    let remote = [&["--keepers", "0", "--remote-keepers", "1"][..], SMALL].concat();
    let dir = fleet.dir.path("kept");
    let first = fleet.serve(&model, &remote);
    let id = fleet.job();
    let mut keeper = fleet.start("keep", &["--dir", &dir]);
    eventually("it keeps", || keeper.err().contains("keeping shard 0"));
    // Nobody else may use the directory meanwhile.
    let second = fleet.start("keep", &["--dir", &dir, "--job", &id, "--shard", "0"]);
    second.wait().complaint(BAD_INPUT, &["in use by another keeper"]);
    eventually("it holds the first state", || {
        fleet.jobs()[0]["status"]["phase"] == "waiting_for_workers"
    });
    keeper.kill();

    // Another job wants a keeper: this directory is none for it.
    let other = fleet.serve(&model, &remote);
    eventually("there are two jobs", || fleet.jobs().len() == 2);
    let listed = fleet.jobs();
    let other_id = listed.iter().filter_map(|job| job["id"].as_str()).find(|name| *name != id);
    let other_id = other_id.expect("another job").to_string();
    let wrong = fleet.start("keep", &["--dir", &dir, "--job", &other_id]);
    wrong.wait().complaint(BAD_INPUT, &["another directory"]);
    // Without a word it goes on with its own.
    let keeper = fleet.start("keep", &["--dir", &dir]);
    eventually("it goes on", || {
        keeper.err().contains(&format!("job {id}: keeping shard 0, 1 state from"))
    });
    let worker = fleet.work(&["--job", &id, "--once"]);
    assert_eq!(first.wait().report(code)["states"], expected["states"]);
    worker.wait().complaint(HOLDS, &["the job is over"]);
    keeper.wait().complaint(HOLDS, &[]);
    // Then the directory is free for the other.
    let keeper = fleet.start("keep", &["--dir", &dir]);
    let _worker = fleet.work(&["--job", &other_id, "--once"]);
    assert_eq!(other.wait().report(code)["states"], expected["states"]);
    keeper.wait().complaint(HOLDS, &[]);

    // Of a job that is gone, with states: it must be emptied by hand.
    let mut gone = fleet.serve(&model, &remote);
    let id = fleet.job();
    let mut keeper = fleet.start("keep", &["--dir", &dir]);
    eventually("it holds the first state", || {
        fleet.jobs()[0]["status"]["phase"] == "waiting_for_workers"
    });
    keeper.kill();
    gone.kill();
    fleet.start("cancel", &[&id]).wait().complaint(HOLDS, &["is removed"]);
    let keeper = fleet.start("keep", &["--dir", &dir]);
    let says = ["holds states of job", &id, "give another directory, or empty it"];
    keeper.wait().complaint(BAD_INPUT, &says);
}

/// A directory that cannot be written is named with the option that takes another one.
#[test]
fn keepers_that_cannot_write() {
    let Some(fleet) = Fleet::new() else { return };
    let nowhere = fleet.start("keep", &["--dir", "/proc/nowhere"]).wait();
    nowhere.complaint(BAD_INPUT, &["/proc/nowhere", "another directory with --dir DIR"]);
    assert!(!nowhere.err.contains("--disk"), "{}", nowhere.err);
    let model = fleet.dir.file("counters.m", COUNTERS);
    let args = ["--disk", "/proc/nowhere", "--workers", "1"];
    fleet.serve(&model, &args).wait().complaint(BAD_INPUT, &["/proc/nowhere", "--disk DIR"]);
    if std::path::Path::new("/sys/kernel").exists() {
        // Nobody may make a file there.
        let serve = fleet.serve(&model, &["--keepers", "0", "--remote-keepers", "1"]);
        let id = fleet.job();
        let denied = fleet.start("keep", &["--dir", "/sys/kernel", "--job", &id]).wait();
        denied.complaint(BAD_INPUT, &["/sys/kernel/keeper.json", "be written with --dir DIR"]);
        fleet.start("cancel", &[&id]).wait().complaint(HOLDS, &["is being cancelled"]);
        serve.wait();
    }
}

#[test]
fn options_that_make_no_sense_together() {
    let dir = Scratch::new("input");
    let model = dir.file("counters.m", COUNTERS);
    let url = ["--nats", "nats://127.0.0.1:1"];
    for (args, says) in [
        (&["--keepers", "many"][..], "--keepers"),
        (&["--levels", "diagonal"], "--levels"),
        (&["--redeliver-after", "soon"], "--redeliver-after"),
        (&["--queue-bytes=-1"], "--queue-bytes"),
    ] {
        let ended = Run::start(&dir, &[&["serve", &model][..], &url, args].concat()).wait();
        ended.complaint(BAD_INPUT, &[says]);
    }
    let Some(fleet) = Fleet::new() else { return };
    for (args, says) in [
        (&["--keepers", "0"][..], "--remote-keepers"),
        (&["--keepers", "4000000000"], "too many keepers"),
        (&["--keepers", "4294967295", "--remote-keepers", "1"], "too many keepers"),
        (&["--max-depth", "3"], "--levels strict"),
    ] {
        fleet.serve(&model, args).wait().complaint(BAD_INPUT, &[says]);
    }
    // A server on its own has nobody to share a queue with.
    fleet.serve(&model, &["--replicas", "3"]).wait().complaint(
        BAD_INPUT,
        &[
            "replicas > 1 not supported",
            "(error 10074)",
            "a cluster of 3 servers",
            "leave out --replicas",
        ],
    );
    let live = shipped("tour/properties.m");
    fleet.serve(&live, &[]).wait().complaint(BAD_INPUT, &["liveness", "ergodic check"]);
    fleet.serve("no-such-model.m", &[]).wait().complaint(BAD_INPUT, &["no-such-model.m"]);
    assert!(fleet.jobs().is_empty());
}
