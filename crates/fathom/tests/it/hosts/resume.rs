//! Runs whose controller is killed, and `fathom resume`.

use super::*;

/// A command with the store of the test.
pub(super) fn stored(mut command: Command, scratch: &Scratch) -> Command {
    command.env("FATHOM_STORE", scratch.join("store.db"));
    command
}

pub(super) fn resume(scratch: &Scratch, arguments: &[&str]) -> Completed {
    let arguments = [&["resume"][..], arguments].concat();
    start(stored(program(arguments), scratch)).finish()
}

/// Bytes that the host wrote behind those of the layout: the job writes from the start of a file of zeros.
pub(super) fn written(scratch: &Scratch, host: &str) -> u64 {
    let content = fs::read(data_file(scratch.path(), host)).expect("a file");
    let blocks = content.chunks(4096);
    blocks
        .filter(|block| block.iter().any(|byte| *byte != 0))
        .count() as u64
}

pub(super) fn ok_ios(host: &Value) -> u64 {
    host["counts"]["ok_ios"].as_u64().unwrap_or(0)
}

/// The controller is killed while both hosts write each block once, 100 a second. Their load ends by itself. `fathom resume` makes
/// a result of what they recorded: as many I/Os as blocks of their files were written, to the last one, and a total that is the sum.
/// It is marked as interrupted and names the killed controller. A second resume has nothing to do.
#[test]
fn a_run_whose_controller_was_killed_has_a_result() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let key = scratch.join("key");
    let key = format!("--key={}", key.display());
    // Makes the key.
    let mut first = server.run("none", "--name=n --ioengine=null --size=1m");
    first.arg(&key);
    start(first).finish().expect(2);
    let text = fs::read_to_string(scratch.join("key")).expect("a key");
    let public = fathom_hosts::SigningKey::parse(&text)
        .expect("a key")
        .public()
        .to_string();
    let agents = server.agents(&["a", "b"], scratch.path(), &["--trust", &public]);
    let job = writes(scratch.path(), "size=64m rate_iops=100") + " --json";
    let mut command = stored(server.run("a,b", &job), &scratch);
    command.arg(&key);
    let controller = writing(start(command), scratch.path(), &["a", "b"]);
    controller.signal(Signal::KILL);
    controller.finish();
    // The lease ends; the recordings stay although the agents are free for other runs again.
    server.wait_for(&["a", "b"]);
    let ran = resume(&scratch, &["r1"]).expect(1);
    let (result, hosts) = (ran.json(), hosts_of(&ran));
    let lines = result.expect_finding("INTERRUPTED");
    assert!(
        ran.out.contains("controller of this run was killed"),
        "{lines}\n{}",
        ran.out
    );
    for (host, name) in hosts.iter().zip(["a", "b"]) {
        assert!(host["lost"].is_null(), "{host:#}");
        assert_eq!(ok_ios(host), written(&scratch, name), "{name}: {host:#}");
        assert!(ok_ios(host) > 30, "{host:#}");
    }
    let total = result.0["fathom"]["totals"][0]["write"]["ios"].as_u64();
    assert_eq!(total, Some(hosts.iter().map(ok_ios).sum()));
    // It is stored as the result of that run, and once only.
    let shown = start(stored(program(["show", "r1", "--json"]), &scratch))
        .finish()
        .expect(0);
    assert!(
        shown.out.contains("\"a:w\"") && shown.out.contains("\"b:w\""),
        "{}",
        shown.out
    );
    let again = resume(&scratch, &["r1"]).expect(2);
    assert!(again.err.contains("r1"), "{}", again.err);
    drop(agents);
}

/// Resumed within the lease, the load goes on to its end: both hosts are complete.
#[test]
fn a_load_that_still_runs_goes_on() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let _agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let job = writes(scratch.path(), "size=4m rate_iops=100 number_ios=300") + " --json";
    server.wait_for(&["a", "b"]);
    let controller = start(stored(server.run("a,b", &job), &scratch));
    let controller = writing(controller, scratch.path(), &["a", "b"]);
    controller.signal(Signal::KILL);
    controller.finish();
    let ran = resume(&scratch, &[]).expect(0);
    let ios: Vec<_> = hosts_of(&ran).iter().map(ok_ios).collect();
    assert_eq!(ios, [300; 2]);
}

/// An agent that was started again has no recording: it is named as lost, and the other host gives its own. Without a key, and
/// with another key, nobody gives anything.
#[test]
fn a_resume_takes_what_is_left_and_needs_the_key() {
    require!(Nats);
    let (server, scratch) = (Server::start(), Scratch::new().expect("scratch"));
    let key = fathom_hosts::SigningKey::generate().expect("random");
    fs::write(scratch.join("key"), &key).expect("a file");
    let public = fathom_hosts::SigningKey::parse(&key)
        .expect("a key")
        .public()
        .to_string();
    let trust = ["--trust", public.as_str()];
    let mut agents = server.agents(&["a", "b"], scratch.path(), &trust);
    let job = writes(scratch.path(), "size=64m rate_iops=100") + " --json";
    let mut command = stored(server.run("a,b", &job), &scratch);
    command.arg(format!("--key={}", scratch.join("key").display()));
    let controller = writing(start(command), scratch.path(), &["a", "b"]);
    controller.signal(Signal::KILL);
    controller.finish();
    let killed = agents.remove("b").expect("it runs");
    killed.signal(Signal::KILL);
    killed.finish();
    let _again = server.agents(&["b"], scratch.path(), &trust);
    server.wait_for(&["a", "b"]);
    let other = fathom_hosts::SigningKey::generate().expect("random");
    fs::write(scratch.join("key"), other).expect("a file");
    let refused = resume(&scratch, &["r1"]).expect(2);
    assert!(
        refused.err.contains("not signed with a key"),
        "{}",
        refused.err
    );
    fs::write(scratch.join("key"), &key).expect("a file");
    let ran = resume(&scratch, &["r1"]).expect(1);
    let result = ran.json();
    let lost = result.expect_finding("HOST_LOST");
    assert!(
        lost.starts_with("b: ") && lost.contains("started again"),
        "{lost}"
    );
    let hosts = hosts_of(&ran);
    assert_eq!(ok_ios(&hosts[0]), written(&scratch, "a"), "{:#}", hosts[0]);
}
