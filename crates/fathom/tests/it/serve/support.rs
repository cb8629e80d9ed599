//! A server of its own for each test, and the results that it shows.

use crate::common::{fathom, program};
use fathom_testkit::Scratch;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A server over a store; it is ended at the end of the test.
pub struct Server {
    pub child: Child,
    /// `127.0.0.1:PORT`.
    pub address: String,
    pub token: String,
}

impl Server {
    pub fn start(store: &Path) -> Server {
        Server::with(store, &[])
    }

    pub fn with(store: &Path, arguments: &[&str]) -> Server {
        Server::saying(store, arguments, Stdio::null())
    }

    /// With a place for its messages.
    pub fn saying(store: &Path, arguments: &[&str], messages: Stdio) -> Server {
        let mut command = program(["serve", "--store"]);
        let mut child = command
            .arg(store)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(messages)
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("standard output"))
            .read_line(&mut line)
            .expect("an address");
        let (address, token) = line
            .trim()
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once("/?token="))
            .unwrap_or_else(|| panic!("an address with a token: {line:?}"));
        Server {
            child,
            address: address.to_owned(),
            token: token.to_owned(),
        }
    }

    /// Head and body of the answer.
    pub fn get(&self, target: &str) -> (String, String) {
        self.ask("GET", target, "", "")
    }

    pub fn ask(&self, method: &str, target: &str, headers: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(600)))
            .expect("a timeout");
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{headers}Connection: close\r\n\r\n{body}",
            self.address, self.token
        );
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), body.to_owned())
    }

    pub fn page(&self, target: &str) -> String {
        let (head, body) = self.get(target);
        assert!(
            head.starts_with("HTTP/1.1 200 "),
            "{target}: {head}\n{body}"
        );
        body
    }

    pub fn json(&self, target: &str) -> Value {
        let body = self.page(target);
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{target}: {error}: {body}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A store with two equal measurements of a simulated disk, r1 and r2, and a sweep of it, r3.
pub fn store(scratch: &Scratch) -> std::path::PathBuf {
    let store = scratch.path().join("store.db");
    let job = scratch.path().join("reads.fio");
    std::fs::write(
        &job,
        "[reads]\nrw=randread\nbs=4k\nsize=64m\nioengine=null\nnumber_ios=2000\n",
    )
    .expect("a job file");
    let run = |arguments: &[&str]| {
        let mut all: Vec<&str> = arguments.to_vec();
        let store = store.to_str().expect("a name");
        all.extend(["--store", store, "--quiet"]);
        fathom(&all).expect(0);
    };
    // The simulated disk has no results of an engine that reads nothing.
    let swept = scratch.path().join("swept.fio");
    std::fs::write(
        &swept,
        "[reads]\nrw=randread\nbs=4k\nsize=64m\nioengine=libaio\n",
    )
    .expect("a job file");
    let job = job.to_str().expect("a name");
    let swept = swept.to_str().expect("a name");
    run(&["run", job]);
    run(&["run", job]);
    run(&[
        "sweep",
        swept,
        "--machine=hdd-7200",
        "--axis",
        "iodepth=1,4",
        "--set",
        "number_ios=200",
    ]);
    let listed = fathom(["runs", "--store", store.to_str().expect("a name")]);
    assert_eq!(listed.out.matches("finished").count(), 3, "{}", listed.out);
    store
}

/// The name of a run as a part of an address.
pub fn name_of(server: &Server, run: &str) -> String {
    let document = server.json(&format!("/api/v1/runs/{run}"));
    let name = document["runs"][0]["name"].as_str().expect("a name");
    name.replace('/', "%2F")
}
