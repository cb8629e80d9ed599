//! `fathom fio --client`: the same job files and the same documents as `fio --client`, with agents in place of `fio --server`.

use std::net::TcpListener;

use super::*;

/// Keys of versions of fio after the one of the distribution.
const NEWER: [&str; 3] = ["job_start", "latency_target_ns", "latency_window_us"];

const JOBS: &str = "[global]\nioengine=null\nsize=64k\nbs=4k\nrw=read\n[a]\n[b]\nrw=write\n";

/// `fathom fio` with these arguments, on this server.
fn client(server: &Server, arguments: &[&str]) -> Completed {
    let mut command = program(["fio", &server.url()]);
    command.args(arguments);
    start(command).finish()
}

/// The document after fio's empty line.
fn document(text: &str) -> Value {
    let begin = text
        .find('{')
        .unwrap_or_else(|| panic!("no document: {text}"));
    serde_json::from_str(&text[begin..]).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Keys in their order, as paths, without the keys of newer versions and of percentiles.
fn keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for line in text.lines() {
        let Some((key, _)) = line
            .trim()
            .strip_prefix('"')
            .and_then(|rest| rest.split_once("\" : "))
        else {
            continue;
        };
        let is_value = key.parse::<f64>().is_ok() || key.starts_with(">=");
        if !NEWER.contains(&key) && !is_value && key != "percentile" {
            keys.push(key.to_owned());
        }
    }
    keys
}

/// The keys of each entry of `client_stats` by the name of its job. fio writes the entries in the order of their arrival.
fn keys_of_entries(text: &str) -> Vec<(String, Vec<String>)> {
    let begin = text.find("\"client_stats\"").expect("client_stats");
    let mut entries: Vec<(String, Vec<String>)> = text[begin..]
        .split("\"jobname\" : ")
        .skip(1)
        .map(|entry| {
            let name = entry.lines().next().unwrap_or_default();
            (name.to_owned(), keys(entry))
        })
        .collect();
    entries.sort();
    entries
}

/// A server of fio on a free port of the loopback interface.
fn fio_server() -> (Running, u16) {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let mut command = Command::new("fio");
    command.arg(format!("--server=127.0.0.1,{port}"));
    let running = start(command).wait_until("the server of fio listens", || {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    (running, port)
}

/// Two clients with two jobs of 16 I/Os each: 32 reads and 32 writes of all clients, counted by fio too. The keys of the
/// document are those of fio in its order.
#[test]
fn the_document_is_that_of_a_client_of_fio() {
    require!(Nats);
    require!(Fio);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let job = scratch.join("job.fio");
    fs::write(&job, JOBS).expect("a job file");
    let job = job.to_str().expect("UTF-8");
    let servers = [fio_server(), fio_server()];
    let mut command = Command::new("fio");
    for (_, port) in &servers {
        command.args([&format!("--client=127.0.0.1,{port}"), job]);
    }
    command.arg("--output-format=json");
    let fio = start(command).finish().expect(0);
    let _agents = server.agents(&["c1", "c2"], scratch.path(), &[]);
    let line = [
        "--client=c1,4444",
        job,
        "--client",
        "ip:c2",
        job,
        "--output-format=json",
    ];
    let ours = client(&server, &line).expect(0);
    assert_eq!(keys_of_entries(&ours.out), keys_of_entries(&fio.out));
    let (fio, ours) = (document(&fio.out), document(&ours.out));
    let names = |document: &Value| -> Vec<String> {
        let all = document.as_object().expect("an object");
        all.keys().cloned().collect()
    };
    assert_eq!(names(&ours), names(&fio));
    for document in [&fio, &ours] {
        let all = document["client_stats"].as_array().expect("an array");
        assert_eq!(all.len(), 5);
        assert_eq!(all[4]["jobname"], "All clients");
        for direction in ["read", "write"] {
            assert_eq!(all[4][direction]["total_ios"], 32);
            let each: u64 = all[..4]
                .iter()
                .map(|one| one[direction]["total_ios"].as_u64().expect("a count"))
                .sum();
            assert_eq!(each, 32);
        }
    }
    let places = |place: usize| {
        let one = &ours["client_stats"][place];
        (
            one["jobname"].clone(),
            one["hostname"].clone(),
            one["port"].clone(),
        )
    };
    assert_eq!(places(0), (json!("a"), json!("c1"), json!(4444)));
    assert_eq!(places(3), (json!("b"), json!("c2"), json!(8765)));
    // As newer versions of fio: one client has an object of options, several have a list.
    let options = json!({"ioengine": "null", "size": "64k", "bs": "4k", "rw": "read"});
    let of_each = ours["global options"].as_array().expect("a list");
    assert_eq!(of_each.len(), 2);
    assert_eq!(of_each[1]["hostname"], "c2");
    assert_eq!(of_each[1]["bs"], "4k");
    let one = client(&server, &["--client=c1", job, "--output-format=json"]).expect(0);
    assert_eq!(document(&one.out)["global options"], options);
    assert_eq!(
        document(&one.out)["client_stats"][2]["jobname"],
        "All clients"
    );
}

/// The hosts of a file run what is named before them; text has the lines of each client and those of all.
#[test]
fn a_file_of_hosts_and_own_job_files() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let (job, other, hosts) = (
        scratch.join("job.fio"),
        scratch.join("other.fio"),
        scratch.join("hosts"),
    );
    fs::write(&job, JOBS).expect("a job file");
    fs::write(&other, "[c]\nioengine=null\nsize=8k\nbs=4k\nrw=read\n").expect("a job file");
    fs::write(&hosts, "c1\nc2\n").expect("a file of hosts");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (job, other) = (text(&job), text(&other));
    let _agents = server.agents(&["c1", "c2"], scratch.path(), &[]);
    let file = format!("--client={}", text(&hosts));
    let ran = client(&server, &[&job, &file]).expect(0);
    for line in [
        "hostname=c2, os=Linux, fio=fio-3.42\n",
        "<c1> a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=null, iodepth=1\n",
        "<c2> Starting 2 threads\n",
        "<c2> \na: (groupid=0, jobs=1): err= 0: pid=",
        "\nAll clients: (groupid=0, jobs=4): err= 0: pid=0: ",
        "     issued rwts: total=32,32,0,0 short=0,0,0,0 dropped=0,0,0,0\n",
    ] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    assert_eq!(ran.err, "");
    // Each its own: 16 reads of a, 16 writes of b, two reads of c.
    let line = ["--client=c1", &job, "--client=c2", &other, "--minimal"];
    let lines = client(&server, &line).expect(0).out;
    let names: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.split(';').nth(2))
        .collect();
    assert_eq!(names, ["a", "b", "c", "All clients"]);
}

/// What fio drops without a word, and what an agent cannot be, are refused with what to write.
#[test]
fn wrong_clients_are_refused() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let job = scratch.join("job.fio");
    fs::write(&job, JOBS).expect("a job file");
    let job = job.to_str().expect("UTF-8");
    for (line, message) in [
        (
            &["--client=c1", "--client=c2", job][..],
            "--client: c1 has no job file",
        ),
        (
            &[job, "--client=c1,c1"],
            "--client: the host c1 is given twice",
        ),
        (
            &["--client=c1", job, "--bs=8k"],
            "--client takes jobs from job files only",
        ),
        (
            &[job, "--client=sock:/tmp/fio"],
            "a socket of fio is not a host",
        ),
        (&[job, "--client=ip6:::1"], "cannot be the name of an agent"),
        (&[job, "--client=nobody"], "nobody"),
        (
            &["--server"],
            "--server is not supported (start `fathom agent --nats=nats://HOST` on each host",
        ),
    ] {
        let ran = client(&server, line).expect(1);
        assert!(ran.err.contains(message), "{line:?}: {}", ran.err);
    }
    let ran = start(program(["run", "--client=a", job]))
        .finish()
        .expect(2);
    assert!(ran.err.contains("use `fathom run --hosts`"), "{}", ran.err);
    let ran = start(program(["fio", "--client=a", job]))
        .finish()
        .expect(1);
    assert!(
        ran.err.contains("no NATS server: give --nats="),
        "{}",
        ran.err
    );
}
