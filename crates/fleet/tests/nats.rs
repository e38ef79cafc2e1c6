//! The broker over a real NATS server. What the protocol relies on is tested here: nothing that was stored
//! is lost, nothing is delivered to two at once unless one of them is silent, a full queue makes publishers
//! wait, and what goes wrong is said.

mod common;

use common::operator::Operator;
use common::{batch, begin, bodies, connect, job, pull};
use ergodic_fleet::nats::{
    Access, Broker, Embedded, Entry, JobStream, NatsDesk, NatsLink, Stop, keeper_present,
    serve_keeper,
};
use ergodic_fleet::{Desk, Job, Link, PROTOCOL, Request, Trouble, Waiting, Wire};
use ergodic_testkit::broker::{
    PATIENCE, Raw, Scratch, Server, certificates, eventually, nats_server,
};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn refused(access: &Access) -> String {
    let began = Instant::now();
    let error = Broker::connect(access, Stop::new()).map(drop).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(20), "it took too long to say: {error}");
    error
}

#[test]
fn jobs_are_registered_and_withdrawn() {
    let Some(server) = Server::start() else { return };
    let broker = connect(&server);
    assert_eq!(broker.jobs().unwrap(), []);
    let (first, second) = (job("a1"), Job { source: "Const N: 3;".into(), ..job("b2") });
    broker.post(&first).unwrap();
    broker.post(&second).unwrap();
    let changed = Job { host: "there".into(), ..first };
    broker.post(&changed).unwrap();
    // What others put there is listed and does no harm.
    let foreign = json!({ "protocol": PROTOCOL + 1, "version": "9.9", "id": "c3" }).to_string();
    let mut raw = Raw::connect(&server);
    raw.publish("ergodic.jobs.c3", "", foreign.as_bytes());
    raw.publish("ergodic.jobs.d4", "", b"\xff\x00 no JSON");
    raw.publish("ergodic.jobs.e5", "", serde_json::to_string(&job("other")).unwrap().as_bytes());
    raw.publish("ergodic.jobs.>", "", b"{}");
    raw.settle();
    let entries = broker.jobs().unwrap();
    assert_eq!(
        entries[0..2],
        [Entry::Job(Box::new(changed)), Entry::Job(Box::new(second))].map(|e| e)[..]
    );
    let why: Vec<(&str, &str)> = entries[2..]
        .iter()
        .map(|entry| match entry {
            Entry::Job(job) => panic!("read as a job: {}", job.id),
            Entry::Unreadable { id, why } => (&id[..], &why[..]),
        })
        .collect();
    assert_eq!(why.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ["c3", "d4", "e5"]);
    assert!(
        why[0].1.contains("9.9") && why[0].1.contains(&format!("protocol {}", PROTOCOL + 1)),
        "{}",
        why[0].1
    );
    for id in ["a1", "c3", "d4", "e5", "never"] {
        broker.withdraw(id).unwrap();
    }
    assert!(matches!(&broker.jobs().unwrap()[..], [Entry::Job(job)] if job.id == "b2"));
    assert!(broker.post(&job("No")).unwrap_err().contains("lower-case"));
    assert!(broker.withdraw("*").is_err());
}

#[test]
fn a_job_that_is_too_large_is_refused() {
    let Some(server) = Server::with("max_payload: 10000\n") else { return };
    let broker = connect(&server);
    let error = broker.post(&Job { source: "x".repeat(20_000), ..job("big") }).unwrap_err();
    assert!(
        error.contains("10000") && error.contains("max_payload") && error.contains("20"),
        "{error}"
    );
    let job = job("small");
    let mut desk = begin(&broker, &job);
    let trouble = desk.publish(vec![batch(0, &[1; 20_000])]).unwrap_err();
    assert!(matches!(&trouble, Trouble::Broken(text) if text.contains("max_payload")), "{trouble}");
    // A keeper whose answer is too long says so, instead of letting everybody ask for ever.
    let stop = Stop::new();
    let served = thread::spawn({
        let (broker, job, stop) = (broker.clone(), job.clone(), stop.clone());
        move || serve_keeper(&broker, &job, 0, &stop, |asked| vec![vec![0; 20_000]; asked.len()])
    });
    let trouble = desk.ask(vec![Request { keeper: 0, body: vec![1] }]).unwrap_err();
    assert!(matches!(&trouble, Trouble::Broken(text) if text.contains("keeper 0")), "{trouble}");
    stop.ask();
    assert_eq!(served.join().unwrap(), Trouble::Stopped);
}

#[test]
fn batches_are_acknowledged_given_back_and_rejected() {
    let Some(server) = Server::start() else { return };
    let broker = connect(&server);
    let job = job("q");
    let mut desk = begin(&broker, &job);
    let mut link = NatsLink::new(&broker, &job).unwrap();
    let began = Instant::now();
    assert_eq!(link.pull(3).unwrap(), []);
    assert!(began.elapsed() >= Duration::from_millis(300), "an empty queue is waited for");
    let batches = vec![batch(0, b"one"), batch(1, b"two"), batch(7, b"three"), batch(1, b"two")];
    desk.publish(batches).unwrap();
    let waiting = desk.waiting().unwrap();
    assert_eq!(
        (waiting.undelivered, waiting.unacknowledged, waiting.stored),
        (3, 0, 3),
        "{waiting:?}"
    );
    let first = pull(&mut link, 2);
    assert_eq!(first.len(), 2);
    let waiting = desk.waiting().unwrap();
    assert_eq!(
        (waiting.undelivered, waiting.unacknowledged, waiting.stored),
        (1, 2, 3),
        "{waiting:?}"
    );
    let mut all = bodies(&first).concat();
    link.give_back(first[0].token);
    link.ack(first[1].token);
    link.ack(first[1].token);
    link.ack(999);
    let mut rest = pull(&mut link, 5);
    while rest.len() < 2 {
        rest.extend(pull(&mut link, 5));
    }
    assert!(
        rest.iter().any(|delivery| delivery.body == first[0].body),
        "what was given back comes again"
    );
    all.extend(
        rest.iter().filter(|delivery| delivery.body != first[0].body).flat_map(|d| d.body.clone()),
    );
    all.sort_unstable();
    let mut expected = b"onetwothree".to_vec();
    expected.sort_unstable();
    assert_eq!(all, expected);
    link.ack(rest[0].token);
    link.reject(rest[1].token);
    eventually("the queue is empty", || desk.waiting().unwrap() == Waiting::default());
    assert_eq!(link.holding(), 0);
    let traffic = broker.traffic();
    assert_eq!(
        (traffic.deliveries, traffic.redeliveries, traffic.rejected),
        (4, 1, 1),
        "{traffic:?}"
    );
    assert_eq!((traffic.work_out, traffic.refused), (14, 0), "{traffic:?}");
}

#[test]
fn a_batch_of_a_dead_worker_comes_again_and_one_of_a_slow_worker_does_not() {
    let Some(server) = Server::start() else { return };
    let (broker, other) = (connect(&server), connect(&server));
    let job = Job { redeliver_ms: 1_500, ..job("dead") };
    let mut desk = begin(&broker, &job);
    desk.publish(vec![batch(0, b"work")]).unwrap();
    // This one pulls, and dies.
    let mut raw = Raw::connect(&server);
    raw.say("SUB inbox 1\r\n");
    raw.publish("$JS.API.CONSUMER.MSG.NEXT.ERGODIC_DEAD.work", "inbox", b"{\"batch\":1}");
    let pulled = Instant::now();
    let (subject, reply, body) = raw.message();
    assert!(subject == "ergodic.dead.work.0" && body.ends_with(b"work"));
    assert!(reply.unwrap().starts_with("$JS.ACK.ERGODIC_DEAD.work.1."));
    drop(raw);
    let mut link = NatsLink::new(&broker, &job).unwrap();
    let again = pull(&mut link, 4);
    assert!(pulled.elapsed() >= Duration::from_millis(1_200), "too early: {:?}", pulled.elapsed());
    assert_eq!(bodies(&again), [b"work"]);
    assert_eq!(broker.traffic().redeliveries, 1);
    // This one is slow, and alive.
    let mut idle = NatsLink::new(&other, &job).unwrap();
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(4_000) {
        assert_eq!(idle.pull(4).unwrap(), []);
    }
    assert_eq!(desk.waiting().unwrap().unacknowledged, 1);
    link.ack(again[0].token);
    eventually("the queue is empty", || desk.waiting().unwrap().stored == 0);
}

/// A link that goes gives back what it holds: nobody waits for the time of redelivery.
#[test]
fn a_link_that_goes_gives_back_what_it_holds() {
    let Some(server) = Server::start() else { return };
    let (broker, other) = (connect(&server), connect(&server));
    let job = Job { redeliver_ms: 3_600_000, ..job("back") };
    let mut desk = begin(&broker, &job);
    desk.publish(vec![batch(0, b"work")]).unwrap();
    let mut link = NatsLink::new(&broker, &job).unwrap();
    assert_eq!(bodies(&pull(&mut link, 4)), [b"work"]);
    drop(link);
    let mut next = NatsLink::new(&other, &job).unwrap();
    let again = pull(&mut next, 4);
    assert_eq!(bodies(&again), [b"work"]);
    next.ack(again[0].token);
    eventually("the queue is empty", || desk.waiting().unwrap().stored == 0);
}

/// Whoever leaves a job that goes on gives back what it holds, and may come back, also before all of it has
/// left.
#[test]
fn a_job_can_be_left_and_joined_again() {
    let Some(server) = Server::start() else { return };
    let broker = connect(&server);
    let job = Job { redeliver_ms: 3_600_000, ..job("left") };
    let mut desk = begin(&connect(&server), &job);
    desk.publish(vec![batch(0, b"work")]).unwrap();
    let mut link = NatsLink::new(&broker, &job).unwrap();
    let mut idle = NatsLink::new(&broker, &job).unwrap();
    assert_eq!(bodies(&pull(&mut link, 4)), [b"work"]);
    broker.leave("left");
    broker.leave("nosuchjob");
    assert_eq!(link.pull(4).unwrap_err(), Trouble::Over);
    drop(link);
    let mut next = NatsLink::new(&broker, &job).unwrap();
    assert_eq!(idle.pull(4).unwrap_err(), Trouble::Over);
    // What it had asked for may have come in between.
    drop(idle);
    let again = pull(&mut next, 4);
    assert_eq!(bodies(&again), [b"work"]);
    next.ack(again[0].token);
    eventually("the queue is empty", || desk.waiting().unwrap().stored == 0);
}

#[test]
fn levels_are_opened_one_after_the_other() {
    let Some(server) = Server::start() else { return };
    let broker = connect(&server);
    let job = Job { strict: true, ..job("lev") };
    let mut desk = begin(&broker, &job);
    let mut link = NatsLink::new(&broker, &job).unwrap();
    desk.publish(vec![batch(0, b"root")]).unwrap();
    let root = pull(&mut link, 4);
    link.publish(vec![batch(1, b"child1"), batch(1, b"child2")]).unwrap();
    let waiting = desk.waiting().unwrap();
    assert_eq!(
        (waiting.undelivered, waiting.unacknowledged, waiting.stored),
        (0, 1, 3),
        "{waiting:?}"
    );
    link.ack(root[0].token);
    eventually("level 0 has ended", || {
        let waiting = desk.waiting().unwrap();
        waiting.undelivered + waiting.unacknowledged == 0
    });
    assert_eq!(link.pull(4).unwrap(), [], "the next level is not open");
    assert_eq!(desk.waiting().unwrap().stored, 2);
    desk.open(Some(1)).unwrap();
    let mut children = pull(&mut link, 1);
    // Who comes later, and heard no announcement, asks.
    let late = connect(&server);
    let mut other = NatsLink::new(&late, &job).unwrap();
    children.extend(pull(&mut other, 1));
    let mut found = bodies(&children);
    found.sort_unstable();
    assert_eq!(found, [b"child1", b"child2"]);
    let waiting = desk.waiting().unwrap();
    assert_eq!(
        (waiting.undelivered, waiting.unacknowledged, waiting.stored),
        (0, 2, 2),
        "{waiting:?}"
    );
    link.ack(children[0].token);
    other.ack(children[1].token);
    eventually("all is done", || desk.waiting().unwrap().stored == 0);
    // Whoever misses an announcement finds the consumer gone.
    desk.publish(vec![batch(2, b"x")]).unwrap();
    desk.open(Some(2)).unwrap();
    assert_eq!(bodies(&pull(&mut other, 1)), [b"x"]);
    // What turns up in a level that has ended is a repetition, and goes away.
    let mut raw = Raw::connect(&server);
    raw.publish("ergodic.lev.work.1", "", b"child1");
    raw.settle();
    eventually("it goes away", || desk.waiting().unwrap().stored == 1);
}

#[test]
fn a_full_queue_makes_publishers_wait() {
    let Some(server) = Server::start() else { return };
    let broker = connect(&server);
    let job = Job { queue_bytes: Some(20 * 842), ..job("full") };
    let mut desk = begin(&broker, &job);
    let publisher = thread::spawn({
        let (broker, job) = (broker.clone(), job.clone());
        move || {
            let mut link = NatsLink::new(&broker, &job).unwrap();
            link.publish((0..60u8).map(|n| batch(0, &[n; 1000])).collect())
        }
    });
    eventually("the queue is full", || broker.traffic().refused > 0);
    assert!(!publisher.is_finished());
    assert_eq!(desk.waiting().unwrap().stored, 20);
    let mut link = NatsLink::new(&broker, &job).unwrap();
    let mut seen = [0; 60];
    while seen.iter().sum::<u32>() < 30 {
        for delivery in pull(&mut link, 8) {
            seen[usize::from(delivery.body[0])] += 1;
            link.ack(delivery.token);
        }
    }
    // More room does as well as more workers.
    desk.grow_queue(Some(40 * 842)).unwrap();
    desk.grow_queue(Some(10)).unwrap();
    publisher.join().unwrap().unwrap();
    while seen.iter().sum::<u32>() < 60 {
        for delivery in pull(&mut link, 8) {
            seen[usize::from(delivery.body[0])] += 1;
            link.ack(delivery.token);
        }
    }
    assert_eq!(seen, [1; 60], "each batch once");
    eventually("the queue is empty", || desk.waiting().unwrap().stored == 0);
    desk.grow_queue(None).unwrap();
    desk.publish((0..100u8).map(|n| batch(0, &[n; 9])).collect()).unwrap();
}

#[test]
fn what_was_stored_survives_the_server() {
    let Some(mut server) = Server::start() else { return };
    let broker = connect(&server);
    let job = Job { redeliver_ms: 1_000, ..job("store") };
    let mut desk = begin(&broker, &job);
    let mut link = NatsLink::new(&broker, &job).unwrap();
    let stop = Stop::new();
    let keeper = thread::spawn({
        let (broker, job, stop) = (broker.clone(), job.clone(), stop.clone());
        move || serve_keeper(&broker, &job, 0, &stop, |requests| requests.to_vec())
    });
    let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut work = |link: &mut NatsLink| {
        let pulled = link.pull(50).unwrap();
        for delivery in pulled {
            *seen.entry(delivery.body).or_default() += 1;
            link.ack(delivery.token);
        }
    };
    // ERGODIC_KILLS=100 asks for more.
    let rounds = std::env::var("ERGODIC_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let (mut mended, many) = (0, 1_000u32);
    for round in 0..rounds {
        let body =
            |n: u32| [&[0; 100][..], &u32::to_be_bytes(round)[..], &n.to_be_bytes()[..]].concat();
        desk.publish((0..many).map(|n| batch(0, &body(n))).collect()).unwrap();
        thread::scope(|scope| {
            // The server ends while batches are acknowledged, and published.
            let ending = scope.spawn(|| {
                thread::sleep(Duration::from_millis(u64::from(20 + 7 * (round % 5))));
                server.end(round % 3 == 0);
                thread::sleep(Duration::from_millis(50));
                server.run();
            });
            let publishing = scope.spawn(|| {
                let mut link = NatsLink::new(&broker, &job).unwrap();
                link.publish((many..2 * many).map(|n| batch(1, &body(n))).collect()).unwrap();
            });
            while !ending.is_finished() || !publishing.is_finished() {
                work(&mut link);
            }
        });
        let hello = Request { keeper: 0, body: b"hello".to_vec() };
        assert_eq!(link.ask(vec![hello]).unwrap(), [b"hello"]);
        // The server may deliver again what was acknowledged, or forget to deliver it; it is empty in
        // the end all the same.
        let mut anew = false;
        while desk.waiting().unwrap().stored > 0 {
            work(&mut link);
            anew |= broker.events().last.is_some_and(|text| text.contains("made anew"));
        }
        mended += u32::from(anew);
    }
    assert_eq!(seen.len() as u32, rounds * 2 * many, "nothing is lost");
    let again = seen.values().filter(|times| **times > 1).count();
    println!(
        "{rounds} rounds, {} batches, {again} delivered again, {mended} times mended",
        seen.len()
    );
    stop.ask();
    assert_eq!(keeper.join().unwrap(), Trouble::Stopped);
    let events = broker.events();
    assert!(
        events.disconnects >= u64::from(rounds) && events.reconnects >= u64::from(rounds),
        "{events:?}"
    );
}

#[test]
fn a_keeper_goes_and_comes_back() {
    let Some(server) = Server::start() else { return };
    let broker = connect(&server);
    let job = job("keep");
    let _desk = begin(&broker, &job);
    let serve = |shard: u32, stop: &Stop, calls: &Arc<AtomicUsize>| {
        let (broker, job, stop, calls) =
            (broker.clone(), job.clone(), stop.clone(), Arc::clone(calls));
        thread::spawn(move || {
            serve_keeper(&broker, &job, shard, &stop, |requests| {
                calls.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
                requests.iter().map(|body| [&[shard as u8], &body[..]].concat()).collect()
            })
        })
    };
    let mut link = NatsLink::new(&broker, &job).unwrap();
    let ask = |keeper: u32, body: &[u8]| Request { keeper, body: body.to_vec() };
    let calls = Arc::new(AtomicUsize::new(0));
    let (stop0, stop1) = (Stop::new(), Stop::new());
    let keeper0 = serve(0, &stop0, &calls);
    eventually("keeper 0 is there", || keeper_present(&broker, &job, 0, Duration::from_secs(1)));
    assert!(!keeper_present(&broker, &job, 1, Duration::from_secs(1)));
    // Keeper 1 comes while somebody waits for it.
    let keeper1 = thread::scope(|scope| {
        let asking = scope.spawn(|| link.ask(vec![ask(1, b"a"), ask(0, b"b"), ask(1, b"c")]));
        thread::sleep(Duration::from_millis(300));
        assert!(!asking.is_finished());
        let keeper1 = serve(1, &stop1, &calls);
        assert_eq!(asking.join().unwrap().unwrap(), [b"\x01a", b"\x00b", b"\x01c"]);
        keeper1
    });
    assert!(broker.traffic().retries > 0);
    // Requests that arrive together are handled together, and answered each with its own answer.
    let before = calls.load(Ordering::Relaxed);
    let many: Vec<Request> = (0..200u8).map(|n| ask(0, &[n])).collect();
    let answers = link.ask(many).unwrap();
    assert!(answers.iter().enumerate().all(|(n, answer)| *answer == [0, n as u8]));
    assert!(
        calls.load(Ordering::Relaxed) - before < 50,
        "{} calls",
        calls.load(Ordering::Relaxed) - before
    );
    stop1.ask();
    assert_eq!(keeper1.join().unwrap(), Trouble::Stopped);
    let stop1 = Stop::new();
    thread::scope(|scope| {
        let asking = scope.spawn(|| link.ask(vec![ask(1, b"again")]));
        thread::sleep(Duration::from_millis(200));
        let keeper1 = serve(1, &stop1, &calls);
        assert_eq!(asking.join().unwrap().unwrap(), [b"\x01again"]);
        stop1.ask();
        assert_eq!(keeper1.join().unwrap(), Trouble::Stopped);
    });
    stop0.ask();
    assert_eq!(keeper0.join().unwrap(), Trouble::Stopped);
    assert_eq!(broker.events().slow, 0);
}

#[test]
fn the_end_of_a_job_ends_all_waiting() {
    let Some(server) = Server::start() else { return };
    let broker = connect(&server);
    let waits = |job: &Job, end: &dyn Fn(&NatsDesk)| {
        let desk = begin(&broker, job);
        thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let mut link = NatsLink::new(&broker, job).unwrap();
                link.ask(vec![Request { keeper: 0, body: vec![1] }]).unwrap_err()
            });
            let pulling = scope.spawn(|| {
                let mut link = NatsLink::new(&broker, job).unwrap();
                loop {
                    if let Err(trouble) = link.pull(1) {
                        return trouble;
                    }
                }
            });
            let keeping =
                scope.spawn(|| serve_keeper(&broker, job, 1, &Stop::new(), |asked| asked.to_vec()));
            thread::sleep(Duration::from_millis(1_500));
            end(&desk);
            [asking, pulling, keeping].map(|thread| thread.join().unwrap())
        })
    };
    let over = [Trouble::Over, Trouble::Over, Trouble::Over];
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(waits(&job("over1"), &|desk| desk.announce_over()), over));
        scope.spawn(|| {
            assert_eq!(waits(&job("over2"), &|_| broker.withdraw("over2").unwrap()), over)
        });
        scope.spawn(|| {
            assert_eq!(
                waits(&job("over3"), &|_| JobStream::delete(&broker, "over3").unwrap()),
                over
            )
        });
    });
    // The coordinator has not ended the job that it finds gone.
    let gone = job("over4");
    let mut desk = begin(&broker, &gone);
    JobStream::delete(&broker, "over4").unwrap();
    JobStream::delete(&broker, "over4").unwrap();
    for trouble in [desk.waiting().unwrap_err(), desk.publish(vec![batch(0, b"x")]).unwrap_err()] {
        assert!(matches!(&trouble, Trouble::Broken(text) if text.contains("gone")), "{trouble}");
    }
}

#[test]
fn a_wish_to_stop_ends_all_waiting() {
    let Some(mut server) = Server::start() else { return };
    let stop = Stop::new();
    let broker = Broker::connect(&Access::at(server.url()), stop.clone()).unwrap();
    let job = job("stop");
    let mut desk = begin(&broker, &job);
    let ended = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut link = NatsLink::new(&broker, &job).unwrap();
            link.ask(vec![Request { keeper: 0, body: vec![1] }]).unwrap_err()
        });
        let keeping =
            scope.spawn(|| serve_keeper(&broker, &job, 1, &Stop::new(), |asked| asked.to_vec()));
        thread::sleep(Duration::from_millis(200));
        server.end(false);
        let counting = scope.spawn(|| {
            loop {
                if let Err(trouble) = desk.waiting() {
                    return trouble;
                }
            }
        });
        let publishing = scope.spawn(|| {
            let mut link = NatsLink::new(&broker, &job).unwrap();
            let published = link.publish(vec![batch(0, b"x")]);
            published.unwrap_err()
        });
        thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        stop.ask();
        let ended = [asking, keeping, counting, publishing].map(|thread| thread.join().unwrap());
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        ended
    });
    assert_eq!(ended, [Trouble::Stopped, Trouble::Stopped, Trouble::Stopped, Trouble::Stopped]);
}

#[test]
fn the_desk_answers_and_listens() {
    let Some(server) = Server::start() else { return };
    let broker = connect(&server);
    let job = Job { strict: true, ..job("desk") };
    let desk = begin(&broker, &job);
    let client = connect(&server);
    let patience = Duration::from_secs(2);
    assert_eq!(
        client.ask_desk("desk", &json!({ "ask": "level" }), PATIENCE),
        Some(json!({ "level": 0 }))
    );
    // The handler may use the broker.
    let inside = broker.clone();
    desk.serve_desk(Arc::new(move |question| {
        json!([question, inside.jobs().map(|jobs| jobs.len()).ok()])
    }));
    assert_eq!(
        client.ask_desk("desk", &json!({ "ask": "x" }), PATIENCE),
        Some(json!([{ "ask": "x" }, 1]))
    );
    assert_eq!(client.ask_desk("nobody", &json!({}), patience), None);
    assert_eq!(client.ask_desk("b.d", &json!({}), patience), None);
    assert!(client.nobody_serves("nobody"));
    assert!(!client.nobody_serves("desk") && !client.nobody_serves("b.d"));
    client.beat("desk", "w-1", &json!({ "states": 7 })).unwrap();
    assert!(client.beat("desk", "a.b", &json!(1)).is_err());
    assert!(client.beat("desk", "a", &json!("x".repeat(70_000))).is_err());
    let mut raw = Raw::connect(&server);
    raw.publish("ergodic.desk.beat.w2", "", b"\xff{");
    raw.publish("ergodic.desk.beat.w3", "", json!("y".repeat(70_000)).to_string().as_bytes());
    raw.publish("ergodic.desk.beat.w4", "", b"[2]");
    raw.publish("ergodic.desk.desk.level", "", b"none");
    raw.publish("ergodic.desk.desk.level", "", b"{\"ask\":\"cancel\"}");
    // Nobody gets the desk to speak to the server in its name.
    raw.publish(
        "ergodic.desk.desk.level",
        "$JS.API.STREAM.DELETE.ERGODIC_DESK",
        b"{\"ask\":\"level\"}",
    );
    raw.settle();
    let mut beats = Vec::new();
    eventually("five were counted out", || {
        beats.extend(desk.beats());
        broker.traffic().rejected == 5 && beats.len() == 2
    });
    beats.sort_by(|one, two| one.0.cmp(&two.0));
    assert_eq!(beats, [("w-1".into(), json!({ "states": 7 })), ("w4".into(), json!([2]))]);
}

#[test]
fn wrong_credentials_are_said() {
    let Some(server) = Server::with("authorization { token: \"s3cret\" }\n") else {
        return;
    };
    let with = |token: Option<&str>| Access {
        token: token.map(str::to_string),
        ..Access::at(server.url())
    };
    for wrong in [None, Some("hush-hush")] {
        let error = refused(&with(wrong));
        assert!(
            error.contains("credentials")
                && error.contains(&server.url())
                && !error.contains("hush"),
            "{error}"
        );
    }
    let in_url = |secret: &str| Access::at(format!("nats://{secret}@127.0.0.1:{}", server.port));
    let error = refused(&in_url("hush-hush"));
    assert!(error.contains("credentials") && !error.contains("hush"), "{error}");
    Broker::connect(&with(Some("s3cret")), Stop::new()).unwrap();
    let broker = Broker::connect(&in_url("s3cret"), Stop::new()).unwrap();
    assert!(!format!("{broker:?}").contains("s3cret") && broker.url() == server.url());
    let users = "authorization { users: [ { user: me, password: \"p@ss:1\" } ] }\n";
    let server = Server::with(users).unwrap();
    let me = Access { user: Some(("me".into(), "p@ss:1".into())), ..Access::at(server.url()) };
    Broker::connect(&me, Stop::new()).unwrap();
    let in_url = format!("nats://me:p%40ss%3a1@127.0.0.1:{}", server.port);
    Broker::connect(&Access::at(in_url), Stop::new()).unwrap();
    let missing = Access { creds: Some("/no/such.creds".into()), ..Access::at(server.url()) };
    assert!(refused(&missing).contains("/no/such.creds"));
    let seed = server.dir.0.join("seed");
    for (text, said) in [("SUANOTASEED", "nkey seed"), ("nothing", "nkey seed")] {
        std::fs::write(&seed, text).unwrap();
        let bad = Access { nkey_seed_file: Some(seed.clone()), ..Access::at(server.url()) };
        let error = refused(&bad);
        assert!(error.contains(said) && !error.contains("NOTASEED"), "{error}");
    }
}

#[test]
fn credentials_of_an_operator_are_taken() {
    let (ours, others) = (Operator::new(), Operator::new());
    let Some(server) = Server::with(&ours.config) else { return };
    let with = |name: &str, text: &str| {
        let file = server.dir.0.join(name);
        std::fs::write(&file, text).unwrap();
        Access { creds: Some(file), ..Access::at(server.url()) }
    };
    Broker::connect(&with("ours", &ours.creds), Stop::new()).unwrap();
    let error = refused(&with("others", &others.creds));
    assert!(error.contains("credentials") && error.contains(&server.url()), "{error}");
    let error = refused(&with("cut", &ours.creds[..100]));
    assert!(error.contains("holds no credentials") && error.contains("cut"), "{error}");
    assert!(refused(&Access::at(server.url())).contains("credentials"));
}

#[test]
fn a_server_that_is_not_there_is_said() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    // It accepts, and says nothing.
    let error = refused(&Access::at(format!("nats://{address}")));
    assert!(error.contains("does not answer") && error.contains(&address.to_string()), "{error}");
    drop(free);
    let error = refused(&Access::at(format!("nats://{address}")));
    assert!(error.contains("cannot reach") && error.contains("efused"), "{error}");
    let error = refused(&Access::at("nats://no-such-host.invalid"));
    assert!(error.contains("cannot find the host"), "{error}");
}

#[test]
fn a_server_without_jetstream_is_said() {
    let Some(server) = Server::without_jetstream() else { return };
    let error = refused(&Access::at(server.url()));
    assert!(error.contains("JetStream") && error.contains("nats-server -js"), "{error}");
}

#[test]
fn certificates_are_checked() {
    if nats_server().is_none() {
        return;
    }
    let dir = Scratch::new("tls");
    certificates(&dir);
    let ca = dir.0.join("ca.pem");
    let tls = "tls { cert_file: \"server.pem\", key_file: \"server.key\" }\n";
    let server = Server::inside(dir, "127.0.0.1", tls).unwrap();
    let at = |host: &str| Access::at(format!("tls://{host}:{}", server.port));
    let trusted = |host: &str| Access { tls_ca: Some(ca.clone()), ..at(host) };
    Broker::connect(&trusted("localhost"), Stop::new()).unwrap();
    let error = refused(&trusted("127.0.0.1"));
    assert!(error.contains("another name"), "{error}");
    let error = refused(&at("localhost"));
    assert!(error.contains("CA file"), "{error}");
    // The server asks for TLS, and we did not: it is used, and the authority is still unknown.
    let error = refused(&Access::at(format!("nats://localhost:{}", server.port)));
    assert!(error.contains("TLS") && error.contains("CA file"), "{error}");
    let missing = Access { tls_ca: Some("/no/ca.pem".into()), ..at("localhost") };
    assert!(refused(&missing).contains("/no/ca.pem"));
    // The server asks for a certificate of ours.
    let (cert, key) = (server.dir.0.join("server.pem"), server.dir.0.join("server.key"));
    let files = ["ca.pem", "server.pem", "server.key"].map(|name| server.dir.0.join(name));
    let strict = Scratch::new("tls");
    for file in &files {
        std::fs::copy(file, strict.0.join(file.file_name().unwrap())).unwrap();
    }
    let verify = tls.replace('}', ", ca_file: \"ca.pem\", verify: true }");
    let strict = Server::inside(strict, "127.0.0.1", &verify).unwrap();
    let stranger = Access {
        tls_ca: Some(ca.clone()),
        ..Access::at(format!("tls://localhost:{}", strict.port))
    };
    let error = refused(&stranger);
    assert!(error.contains("certificate of ours"), "{error}");
    Broker::connect(&Access { tls_identity: Some((cert, key)), ..stranger }, Stop::new()).unwrap();
    // We ask for TLS, and the server has none.
    let plain = Server::start().unwrap();
    let error = refused(&Access { tls_required: true, ..Access::at(plain.url()) });
    assert!(error.contains("TLS"), "{error}");
}

/// What each role needs, and no more.
const PERMISSIONS: &str = r#"
authorization { users: [
  { user: boss, password: x }
  { user: worker, password: x, permissions: {
    publish: ["$JS.API.STREAM.INFO.*", "$JS.API.DIRECT.GET.ERGODIC_JOBS", "$JS.API.CONSUMER.MSG.NEXT.*.*", "$JS.ACK.>",
              "ergodic.may.work.*", "ergodic.may.keep.*", "ergodic.may.desk.level", "ergodic.may.beat.*"]
    subscribe: ["_INBOX_ergodic.>", "ergodic.*.level", "ergodic.*.over"] } }
  { user: keeper, password: x, permissions: {
    publish: ["$JS.API.STREAM.INFO.*", "$JS.API.DIRECT.GET.ERGODIC_JOBS", "_INBOX_ergodic.>"]
    subscribe: ["_INBOX_ergodic.>", "ergodic.may.keep.*", "ergodic.*.level", "ergodic.*.over"] } }
] }
"#;

#[test]
fn roles_need_little_and_what_is_not_allowed_is_said() {
    let Some(server) = Server::with(PERMISSIONS) else { return };
    let access =
        |user: &str| Access { user: Some((user.into(), "x".into())), ..Access::at(server.url()) };
    let [boss, worker, keeper] = ["boss", "worker", "keeper"]
        .map(|user| Broker::connect(&access(user), Stop::new()).unwrap());
    let (may, no) = (Job { strict: true, ..job("may") }, job("no"));
    let mut desk = begin(&boss, &may);
    let _other = begin(&boss, &no);
    desk.publish(vec![batch(0, b"x")]).unwrap();
    assert!(
        matches!(&worker.jobs().unwrap()[..], [Entry::Job(first), Entry::Job(_)] if **first == may)
    );
    let stop = Stop::new();
    let serving = thread::spawn({
        let (keeper, may, stop) = (keeper.clone(), may.clone(), stop.clone());
        move || serve_keeper(&keeper, &may, 1, &stop, |asked| asked.to_vec())
    });
    let mut link = NatsLink::new(&worker, &may).unwrap();
    let pulled = pull(&mut link, 1);
    assert_eq!(link.ask(vec![Request { keeper: 1, body: b"claim".to_vec() }]).unwrap(), [b"claim"]);
    link.publish(vec![batch(1, b"y")]).unwrap();
    worker.beat("may", "w", &json!(1)).unwrap();
    link.ack(pulled[0].token);
    let mut beats = 0;
    eventually("one batch is left, and a sign of life", || {
        beats += desk.beats().len();
        desk.waiting().unwrap().stored == 1 && beats == 1
    });
    stop.ask();
    assert_eq!(serving.join().unwrap(), Trouble::Stopped);
    let mut link = NatsLink::new(&worker, &no).unwrap();
    for trouble in [
        link.ask(vec![Request { keeper: 0, body: vec![1] }]).unwrap_err(),
        link.publish(vec![batch(0, b"x")]).unwrap_err(),
        serve_keeper(&keeper, &no, 3, &Stop::new(), |asked| asked.to_vec()),
    ] {
        assert!(
            matches!(&trouble, Trouble::Broken(text) if text.contains("ergodic.no.")),
            "{trouble}"
        );
    }
    assert!(worker.post(&may).unwrap_err().contains("permission"));
    // Without a place for answers nothing works, and that is said at once.
    let error = refused(&Access { inbox_prefix: "_INBOX.mine".into(), ..access("worker") });
    assert!(error.contains("_INBOX.mine"), "{error}");
}

#[test]
fn a_server_of_our_own_lives_and_dies_with_us() {
    if nats_server().is_none() {
        return;
    }
    let dir = Scratch::new("own");
    let server = Embedded::start(Some(&dir.0)).unwrap();
    let broker = Broker::connect(&Access::at(server.url()), Stop::new()).unwrap();
    assert_eq!(broker.max_payload(), 8 << 20);
    let job = job("mine");
    let mut desk = begin(&broker, &job);
    desk.publish(vec![batch(0, &vec![3; 4 << 20])]).unwrap();
    let secret = server.url().split('@').next().unwrap()["nats://".len()..].to_string();
    assert_eq!(secret.len(), 32);
    assert!(refused(&Access::at(broker.url())).contains("credentials"));
    assert!(server.dir().exists());
    drop((desk, broker, server));
    assert_eq!(std::fs::read_dir(&dir.0).unwrap().count(), 0, "nothing is left");
}
