//! Thousands of agents as tasks of this process, through a server that exists for the test.

#![allow(clippy::print_stderr, reason = "what a test skips is said")]

#[path = "../../examples/scale.rs"]
#[allow(dead_code, reason = "it is a program too")]
mod scale;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fathom_testkit::{Scratch, require};

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server, and its address.
fn server(scratch: &Scratch) -> (Server, String) {
    let started = Command::new("nats-server")
        .args(["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir"])
        .arg(scratch.path())
        .stderr(Stdio::null())
        .spawn();
    let server = Server(started.expect("nats-server starts"));
    let begun = Instant::now();
    loop {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it does not listen"
        );
        std::thread::sleep(Duration::from_millis(50));
        let files = std::fs::read_dir(scratch.path()).expect("a directory");
        let text: String = files
            .filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok())
            .collect();
        let address = text.split('"').find(|word| word.starts_with("nats://"));
        if let Some(address) = address {
            return (server, address.to_owned());
        }
    }
}

/// 7,800 agents say where they are every 0.78 s. All of them give their recordings of 16 KiB, 122 MiB together.
///
/// Regression 1440: from 7,500 agents on, each of these messages looked like that of an agent that had been away for 0.75 s, and
/// was answered with a message to all agents; the questions about their clocks waited behind them, and the run did not end.
///
/// Regression 1441: all recordings were asked for at once. A server closes a connection for which 64 MiB wait. And agents whose
/// messages waited while the controller sent 7,800 others counted as lost.
#[test]
fn thousands_of_agents_end_a_run() {
    require!(Nats);
    let scratch = Scratch::new().expect("scratch");
    let (_server, url) = server(&scratch);
    let (parts, each) = (4, 1950);
    let agents: Vec<_> = (0..parts)
        .map(|part| {
            let url = url.clone();
            std::thread::spawn(move || scale::agents(&url, part * each, each, 200, 16 << 10))
        })
        .collect();
    let measured = scale::measure(&url, parts * each).expect("the run ends");
    assert_eq!(measured.failed, None);
    for part in agents {
        part.join()
            .expect("it ends")
            .expect("every task was released");
    }
}
