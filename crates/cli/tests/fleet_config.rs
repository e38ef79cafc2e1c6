//! The configurations of the manual's page on security, run as they are printed there: only names of
//! computers, ports and directories are replaced. A job must get through with the permissions that each
//! role has, without one refusal, and what the page says is impossible must be.
//!
//! Needs `nats-server`, `openssl` and `bash`, and says so if they are not there.

use ergodic_driver::fleet::{Access, Broker, JobStream, Stop};
use ergodic_testkit::broker::{Running, Scratch, eventually, launch, nats_server};
use serde_json::Value;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const PAGE: &str = include_str!("../../../docs/src/fleet-security.md");

/// Nothing here takes longer, even on a computer that has other things to do.
const LONG: Duration = Duration::from_secs(120);

/// The blocks of the page that are files: their first line is a comment with the name.
fn files() -> Vec<(&'static str, &'static str)> {
    let mut files = Vec::new();
    for part in PAGE.split("\n```").skip(1).step_by(2) {
        let (_, text) = part.split_once('\n').expect("a block has lines");
        let name = text.strip_prefix("# ").and_then(|rest| rest.lines().next());
        if let Some(name) = name.filter(|name| !name.contains(' ')) {
            files.push((name, text));
        }
    }
    files
}

/// A directory with the files of the page.
struct Place(Scratch);

impl Place {
    fn new(replace: &[(&str, String)]) -> Place {
        let dir = Scratch::new("config");
        for (name, text) in files() {
            let mut text = text.replace("/etc/nats", &dir.0.display().to_string());
            for (from, to) in replace {
                assert!(PAGE.contains(from), "the page does not mention {from} any more");
                text = text.replace(from, to);
            }
            dir.file(name, &text);
        }
        Place(dir)
    }

    /// Runs a script of the page.
    fn script(&self, name: &str) {
        let output = Command::new("bash").arg(name).current_dir(&self.0.0).output().expect("bash");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// What a file of the page or of a script says about a name: `NAME: "VALUE"` or `NAME=VALUE`.
    fn setting(&self, file: &str, name: &str) -> String {
        let text = self.0.read(file);
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([':', '=']));
        let line = line.unwrap_or_else(|| panic!("no {name} in {file}"));
        line.trim().trim_matches('"').to_string()
    }
}

/// Waits for the end of a process; returns what it printed.
fn end(mut process: Running, who: &str) -> Output {
    let status = process.wait_for(LONG).unwrap_or_else(|| panic!("{who} does not end"));
    let mut output = Output { status, stdout: vec![], stderr: vec![] };
    process.0.stdout.take().map(|mut from| from.read_to_end(&mut output.stdout));
    process.0.stderr.take().map(|mut from| from.read_to_end(&mut output.stderr));
    output
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|at| at.local_addr()).expect("a port").port()
}

/// Whether there is what these tests need: the server, unless somebody says to do without, and openssl.
fn equipped() -> bool {
    let openssl = Command::new("openssl").arg("version").output().is_ok();
    assert!(
        openssl,
        "these tests make certificates with openssl: install the Debian package openssl"
    );
    nats_server().is_some()
}

fn start_server(place: &Place, config: &str, port: u16) -> Running {
    launch(&place.0.0, config, || TcpStream::connect(("127.0.0.1", port)).ok()).0
}

/// A user of the page: what its environment is, by the block of the page that shows one.
struct User {
    env: Vec<(&'static str, String)>,
}

impl User {
    fn start(&self, args: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ergodic"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ERGODIC_") {
                command.env_remove(name);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value))).args(args);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(child.spawn().expect("ergodic starts"))
    }

    fn run(&self, args: &[&str]) -> Output {
        end(self.start(args), &args.join(" "))
    }

    fn says(&self, args: &[&str]) -> String {
        let output = self.run(args);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn get(&self, name: &str) -> Option<String> {
        self.env.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone())
    }

    fn broker(&self) -> Broker {
        let get = |name| self.get(name).unwrap_or_default();
        let access = Access {
            url: get("ERGODIC_NATS"),
            user: Some((get("ERGODIC_NATS_USER"), get("ERGODIC_NATS_PASSWORD"))),
            tls_ca: self.get("ERGODIC_TLS_CA").map(PathBuf::from),
            inbox_prefix: get("ERGODIC_INBOX"),
            ..Access::default()
        };
        Broker::connect(&access, Stop::new()).expect("a user of the page gets in")
    }
}

/// A user of the office, with a name as in `office.conf`.
fn office_user(place: &Place, name: &str) -> User {
    let set = |key| place.setting("worker.env", key);
    assert_eq!(set("ERGODIC_INBOX"), "_INBOX_worker");
    let password = format!("{}_PASSWORD", name.to_uppercase().replace('-', "_"));
    let env = vec![
        ("ERGODIC_NATS", set("ERGODIC_NATS")),
        ("ERGODIC_TLS_CA", set("ERGODIC_TLS_CA")),
        ("ERGODIC_NATS_USER", name.to_string()),
        ("ERGODIC_NATS_PASSWORD", place.setting("passwords.conf", &password)),
        ("ERGODIC_INBOX", format!("_INBOX_{}", name.trim_start_matches("thesis-"))),
    ];
    User { env }
}

/// A user of the cluster, with a name as in `keys.conf`.
fn cluster_user(place: &Place, name: &str) -> User {
    let set = |key| place.setting("cluster.env", key);
    let role = name.split_once('_').expect("a project and a role").1.to_lowercase();
    let env = vec![
        ("ERGODIC_NATS", set("ERGODIC_NATS")),
        ("ERGODIC_TLS_CA", set("ERGODIC_TLS_CA")),
        ("ERGODIC_NATS_NKEY", set("ERGODIC_NATS_NKEY").replace("CHIP_WORKER", name)),
        ("ERGODIC_INBOX", set("ERGODIC_INBOX").replace("worker", &role)),
    ];
    User { env }
}

fn model(name: &str) -> String {
    format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a small job with a worker, a keeper here and one elsewhere; its counts must be right.
fn small_job(
    place: &Place,
    coordinator: &User,
    keeper: &User,
    worker: &User,
    more: &[&str],
) -> Value {
    let at_work = worker.start(&["work", "--threads", "1", "--once"]);
    let dir = place.0.path("kept");
    let keeping = keeper.start(&["keep", "--dir", &dir]);
    let path = model("examples/peterson.m");
    let args = ["serve", &path, "--const", "N=4", "--remote-keepers", "1", "--format", "json"];
    let output = coordinator.run(&[&args[..], more].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    assert_eq!(report["verdict"], "holds", "{report:#}");
    assert_eq!((&report["states"], &report["transitions"]), (&969.into(), &3007.into()));
    assert!(end(keeping, "the keeper").status.success());
    assert!(end(at_work, "the worker").status.success());
    report
}

/// What the server has refused so far.
fn refusals(place: &Place, config: &str) -> Vec<String> {
    let log = place.0.read(&format!("{config}.log"));
    log.lines().filter(|line| line.contains("Violation")).map(String::from).collect()
}

/// The office of the page; `change` may change the configuration before the server begins.
fn office(change: impl FnOnce(&Place), check: impl FnOnce(&Place)) {
    if !equipped() {
        return;
    }
    let port = free_port();
    let place = Place::new(&[
        ("0.0.0.0:4222", format!("127.0.0.1:{port}")),
        ("server.example:4222", format!("localhost:{port}")),
        ("server.example", "localhost".into()),
        ("/var/lib/nats", "storage".into()),
        ("max_file_store: 100GB", "max_file_store: 1GB".into()),
    ]);
    place.script("authority.sh");
    place.script("passwords.sh");
    change(&place);
    let _server = start_server(&place, "office.conf", port);
    check(&place);
}

fn as_printed(_: &Place) {}

#[test]
fn a_server_may_ask_for_certificates() {
    let change = |place: &Place| {
        place.script("computer.sh");
        let (office, tls) = (place.0.read("office.conf"), place.0.read("tls.conf"));
        let from = office.find("\ntls {").expect("a block for TLS");
        let to = from + office[from..].find("\n}\n").expect("its end") + 3;
        let text = format!("{}\n{tls}\n{}", &office[..from], &office[to..]);
        place.0.file("office.conf", &text);
    };
    office(change, |place| {
        let mut user = office_user(place, "observer");
        let said = user.says(&["jobs"]);
        assert!(said.contains("it may ask for a certificate of ours"), "{said}");
        user.env.push(("ERGODIC_TLS_CERT", place.0.path("desk7.pem")));
        user.env.push(("ERGODIC_TLS_KEY", place.0.path("desk7.key")));
        assert_eq!(user.says(&["jobs"]), "no jobs\n");
    });
}

#[test]
fn an_office_works_with_least_privileges() {
    office(as_printed, |place| {
        let user = |name: &str| office_user(place, name);
        let (coordinator, keeper, worker) = (user("coordinator"), user("keeper"), user("worker"));
        small_job(place, &coordinator, &keeper, &worker, &[]);
        let strict = ["--levels", "strict", "--workers", "1"];
        let report = small_job(place, &coordinator, &keeper, &worker, &strict);
        assert_eq!(report["depth"], 36);
        assert_eq!(user("observer").says(&["jobs"]), "no jobs\n");
        // Nobody asked for anything that it may not have.
        assert_eq!(refusals(place, "office.conf"), Vec::<String>::new());
    });
}

#[test]
fn strangers_and_workers_get_no_further_than_they_should() {
    office(as_printed, |place| {
        let user = |name: &str| office_user(place, name);
        let without = |name: &str, key: &str| {
            let mut user = user(name);
            user.env.retain(|(name, _)| *name != key);
            user.says(&["jobs"])
        };
        let said = without("worker", "ERGODIC_NATS_USER");
        assert!(said.contains("does not accept our credentials"), "{said}");
        let said = without("worker", "ERGODIC_TLS_CA");
        assert!(said.contains("signed by nobody we know"), "{said}");
        let said = without("worker", "ERGODIC_INBOX");
        assert!(said.contains("Violation for Subscription"), "{said}");

        let path = model("examples/peterson.m");
        let serving = user("coordinator").start(&["serve", &path]);
        let mut listed = String::new();
        eventually("the job is listed", || {
            listed = user("observer").says(&["jobs"]);
            listed.contains("peterson.m")
        });
        let id = listed.split(' ').next().expect("a name").to_string();

        // A worker starts no job and deletes nothing.
        let said = user("worker").says(&["serve", &path]);
        assert!(said.contains("does not allow it") && said.contains("STREAM.CREATE"), "{said}");
        for name in ["worker", "keeper", "observer"] {
            let broker = user(name).broker();
            let said = JobStream::delete(&broker, &id).expect_err("not allowed");
            assert!(said.contains("does not allow it"), "{name}: {said}");
            let said = broker.withdraw(&id).expect_err("not allowed");
            assert!(said.contains("does not allow it"), "{name}: {said}");
        }

        // Nor does anybody but the coordinator end a job that runs: not even under a subject that it may use.
        for (name, may) in [("worker", "level"), ("observer", "status"), ("keeper", "keep")] {
            let broker = user(name).broker();
            let cancel = serde_json::json!({ "ask": "cancel" });
            assert_eq!(broker.ask_desk(&id, &cancel, Duration::from_secs(1)), None, "{name}");
            let question = serde_json::json!({ "ask": may, "who": 1 });
            assert!(broker.ask_desk(&id, &question, LONG).is_some(), "{name}");
        }

        // Another account has nothing to do with it, whatever the role.
        for name in ["thesis-worker", "thesis-coordinator"] {
            assert_eq!(user(name).says(&["jobs"]), "no jobs\n");
            let said = user(name).says(&["cancel", &id]);
            assert!(said.contains("there is no job"), "{name}: {said}");
            let question = serde_json::json!({ "ask": "status" });
            let answer = user(name).broker().ask_desk(&id, &question, Duration::from_secs(1));
            assert_eq!(answer, None, "{name}");
        }
        JobStream::delete(&user("thesis-coordinator").broker(), &id).expect("there is none there");

        let listed = user("observer").says(&["jobs"]);
        assert!(listed.contains(&id) && !listed.contains("nobody serves"), "{listed}");
        assert!(user("coordinator").run(&["cancel", &id]).status.success());
        assert_eq!(end(serving, "the coordinator").status.code(), Some(2));
    });
}

#[test]
fn a_cluster_works_with_keys() {
    if !equipped() {
        return;
    }
    let names = ["one", "two", "three"];
    let ports = names.map(|_| (free_port(), free_port()));
    let mut replace = Vec::new();
    let urls: Vec<String> = names.iter().map(|name| format!("{name}.example:4222")).collect();
    let routes: Vec<String> = names.iter().map(|name| format!("{name}.example:6222")).collect();
    for (i, (clients, servers)) in ports.iter().enumerate() {
        replace.push((urls[i].as_str(), format!("localhost:{clients}")));
        replace.push((routes[i].as_str(), format!("localhost:{servers}")));
    }
    replace.push(("server.example", "localhost".into()));
    replace.push(("max_file_store: 100GB", "max_file_store: 1GB".into()));
    let place = Place::new(&replace);
    place.script("authority.sh");
    place.script("keys.sh");
    let config = place.0.read("cluster.conf");
    let configs = names.map(|name| format!("{name}.conf"));
    for ((name, file), (clients, servers)) in names.iter().zip(&configs).zip(&ports) {
        let text = config
            .replace("server_name: one", &format!("server_name: {name}"))
            .replace("/var/lib/nats", &format!("storage-{name}"))
            .replace("0.0.0.0:4222", &format!("127.0.0.1:{clients}"))
            .replace("0.0.0.0:6222", &format!("127.0.0.1:{servers}"));
        place.0.file(file, &text);
    }
    let start = |(file, (port, _)): (&String, &(u16, u16))| start_server(&place, file, *port);
    let _servers: Vec<Running> = configs.iter().zip(&ports).map(start).collect();
    let user = |name: &str| cluster_user(&place, name);
    let ready = || user("CHIP_OBSERVER").run(&["jobs"]).status.success();
    eventually("the servers have elected a leader", ready);
    let (coordinator, keeper) = (user("CHIP_COORDINATOR"), user("CHIP_KEEPER"));
    small_job(&place, &coordinator, &keeper, &user("CHIP_WORKER"), &[]);
    assert_eq!(user("THESIS_WORKER").says(&["jobs"]), "no jobs\n");
    for file in &configs {
        assert_eq!(refusals(&place, file), Vec::<String>::new());
    }
    let said = user("CHIP_WORKER").says(&["serve", &model("examples/peterson.m")]);
    assert!(said.contains("does not allow it"), "{said}");
}

#[test]
fn the_page_has_its_files() {
    let names: Vec<&str> = files().iter().map(|(name, _)| *name).collect();
    for name in ["authority.sh", "passwords.sh", "roles.conf", "office.conf", "worker.env"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    for name in ["nkey.sh", "keys.sh", "cluster.conf", "cluster.env", "tls.conf", "computer.sh"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert!(Path::new(&model("examples/peterson.m")).is_file());
}
