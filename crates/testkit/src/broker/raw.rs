//! A client that speaks the protocol of NATS by hand, to do what ours never does.

use super::{PATIENCE, Server};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};

/// A client that does what it is told, byte by byte.
pub struct Raw(BufReader<TcpStream>);

impl Raw {
    /// Introduces itself to a server that lets everybody in.
    pub fn connect(server: &Server) -> Raw {
        let stream = TcpStream::connect((server.host.as_str(), server.port)).expect("a server");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let mut raw = Raw(BufReader::new(stream));
        assert!(raw.line().starts_with("INFO"));
        raw.say("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nPING\r\n");
        assert_eq!(raw.line(), "PONG");
        raw
    }

    /// Sends this.
    pub fn say(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).expect("a server that listens");
    }

    /// The next line that is no `PING`: those are answered.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).expect("a server that answers");
            assert!(read > 0, "the server hung up");
            match line.trim_end() {
                "PING" => self.say("PONG\r\n"),
                line => return line.to_string(),
            }
        }
    }

    /// Publishes; an empty reply wants no answer.
    pub fn publish(&mut self, subject: &str, reply: &str, body: &[u8]) {
        self.say(&format!("PUB {subject} {reply} {}\r\n", body.len()));
        self.0.get_mut().write_all(body).expect("a server that listens");
        self.say("\r\n");
    }

    /// Makes sure that the server has read everything.
    pub fn settle(&mut self) {
        self.say("PING\r\n");
        while self.line() != "PONG" {}
    }

    /// The next message: its subject, its reply and its body.
    pub fn message(&mut self) -> (String, Option<String>, Vec<u8>) {
        loop {
            let line = self.line();
            let parts: Vec<&str> = line.split_whitespace().collect();
            let sizes = match parts.first() {
                Some(&"MSG") => 1,
                Some(&"HMSG") => 2,
                _ => continue,
            };
            let size = |i: usize| parts[parts.len() - i].parse::<usize>().expect("a size");
            let head = if sizes == 2 { size(2) } else { 0 };
            let mut body = vec![0; size(1) + 2];
            self.0.read_exact(&mut body).expect("a message");
            body.truncate(body.len() - 2);
            let reply = (parts.len() > 3 + sizes).then(|| parts[3].to_string());
            return (parts[1].to_string(), reply, body.split_off(head));
        }
    }

    /// Asks, and returns the body of the first answer.
    pub fn ask(&mut self, subject: &str, body: &[u8]) -> Vec<u8> {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let inbox = format!("_INBOX.raw.{}.{number}", std::process::id());
        self.say(&format!("SUB {inbox} {number}\r\nUNSUB {number} 1\r\n"));
        self.publish(subject, &inbox, body);
        self.message().2
    }
}
