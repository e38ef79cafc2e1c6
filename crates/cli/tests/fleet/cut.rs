//! A network of its own for one process, behind a cable that can be pulled: a network namespace and a pair
//! of virtual devices. Needs the rights of the administrator and the program `ip`.

use std::process::{Command, Stdio};

/// A namespace that goes away, and its cable with it.
pub struct Island {
    name: String,
    device: String,
    net: String,
}

fn ip(args: &[&str]) -> Result<(), String> {
    let mut command = Command::new("ip");
    command.args(args).stdin(Stdio::null());
    let done = command.output().map_err(|why| format!("ip: {why}"))?;
    match done.status.success() {
        true => Ok(()),
        false => {
            Err(format!("ip {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr).trim()))
        }
    }
}

impl Island {
    pub fn new() -> Result<Island, String> {
        let number = std::process::id();
        // Of the addresses for tests of networks (RFC 2544), which nobody uses else.
        let net = format!("198.18.{}", number % 250);
        let island =
            Island { name: format!("ergodic{number}"), device: format!("erg{number}"), net };
        let (name, device) = (island.name.as_str(), island.device.as_str());
        ip(&["netns", "add", name])?;
        ip(&["link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", name])?;
        ip(&["addr", "add", &format!("{}.1/30", island.net), "dev", device])?;
        ip(&["link", "set", device, "up"])?;
        ip(&["-n", name, "addr", "add", &format!("{}.2/30", island.net), "dev", "eth0"])?;
        ip(&["-n", name, "link", "set", "eth0", "up"])?;
        Ok(island)
    }

    /// Our address, as seen from there.
    pub fn address(&self) -> String {
        format!("{}.1", self.net)
    }

    /// The program under test, inside.
    pub fn command(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, env!("CARGO_BIN_EXE_ergodic")]);
        command
    }

    /// Pulls the cable, or puts it back in.
    pub fn cut(&self, off: bool) {
        ip(&["link", "set", &self.device, if off { "down" } else { "up" }]).expect("a cable");
    }
}

impl Drop for Island {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.name]);
        let _ = ip(&["link", "del", &self.device]);
    }
}
