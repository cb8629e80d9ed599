//! What viewers of `fathom serve` cost the host on which a run is measured.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use fathom_testkit::Scratch;
use serde_json::Value;

use crate::common::program;
use crate::scene::Scene;
use crate::serve_support::{Server, store};

pub const SCENES: &[Scene] = &[Scene::check(
    "a hundred viewers take at most 2 % of a CPU",
    &[],
    viewers_cost_little,
)];

/// CPU time of a process in seconds: proc_pid_stat(5), fields 14 and 15, in hundredths.
fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, after) = stat.rsplit_once(')').expect("a name");
    let fields: Vec<f64> = after
        .split_whitespace()
        .filter_map(|field| field.parse().ok())
        .collect();
    // Without the state, which is a letter.
    (fields[10] + fields[11]) / 100.0
}

/// The state of a run, when it has one that is wanted; a minute is more than any of these takes.
fn state_of(server: &Server, run: &str, wanted: &[&str]) -> Value {
    for _ in 0..600 {
        let (head, body) = server.get(&format!("/api/v1/runs/{run}"));
        let document: Value = serde_json::from_str(&body).unwrap_or_default();
        let is_it = document["runs"][0]["state"]
            .as_str()
            .is_some_and(|state| wanted.contains(&state));
        if status(&head) == 200 && is_it {
            return document["runs"][0].clone();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{run} is not {wanted:?}");
}

fn viewers_cost_little() -> Result<(), String> {
    const VIEWERS: usize = 100;
    const LIMIT: f64 = 0.02;
    let scratch = Scratch::new().expect("a directory");
    let store = store(&scratch);
    let server = Server::start(&store);
    let job = scratch.path().join("slow.fio");
    std::fs::write(
        &job,
        "[slow]\nioengine=null\nsize=1m\nrw=read\nrate_iops=100\ntime_based\nruntime=5m\n",
    )
    .expect("a job file");
    let mut run = program(["run", "--quiet", "--store"]);
    run.arg(&store).arg(&job);
    let mut run = run
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    state_of(&server, "r4", &["running"]);
    let mut viewers: Vec<TcpStream> = (0..VIEWERS)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.address).expect("a connection");
            let request = format!(
                "GET /api/v1/live/r4/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
                server.token
            );
            stream.write_all(request.as_bytes()).expect("a request");
            stream.set_nonblocking(true).expect("a setting");
            stream
        })
        .collect();
    let mut read_for = |seconds: f64| -> (usize, f64, f64) {
        let (begin, used) = (std::time::Instant::now(), cpu_seconds(server.child.id()));
        let (mut events, mut part) = (0, [0; 1 << 16]);
        while begin.elapsed().as_secs_f64() < seconds {
            for viewer in &mut viewers {
                while let Ok(read @ 1..) = viewer.read(&mut part) {
                    let text = String::from_utf8_lossy(&part[..read]);
                    events += text.matches("event: figures").count();
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let used = cpu_seconds(server.child.id()) - used;
        (events, used, begin.elapsed().as_secs_f64())
    };
    read_for(1.0);
    let (events, used, seconds) = read_for(6.0);
    run.kill().expect("our own child");
    run.wait().expect("our own child");
    if events >= 2 * VIEWERS && used <= LIMIT * seconds {
        Ok(())
    } else {
        Err(format!(
            "{events} events and {used} s of CPU time in {seconds} s"
        ))
    }
}

fn status(head: &str) -> u16 {
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.unwrap_or_else(|| panic!("a status: {head}"))
}
