//! A NATS server with JetStream: what hosts record is kept by the server while the load runs.

use super::resume::{ok_ios, resume, stored, written};
use super::*;

/// A server that keeps streams below a directory of the test.
fn server(scratch: &Scratch) -> Server {
    let directory = scratch.join("streams");
    let directory = directory.to_str().expect("UTF-8");
    Server::with("", &["--jetstream", "--store_dir", directory])
}

/// Messages in the stream of the journals, as the server counts them.
fn kept(server: &Server) -> u64 {
    let mut raw = server.raw();
    raw.send("SUB test.info 1\r\n");
    let subject = format!("$JS.API.STREAM.INFO.{}", fathom_hosts::STREAM);
    raw.publish(&subject, "test.info", &json!({}));
    let (_, _, answer) = raw.next(Duration::from_secs(5)).expect("an answer");
    answer["state"]["messages"]
        .as_u64()
        .unwrap_or_else(|| panic!("{answer:#}"))
}

/// 100 writes a second, each of a block of its own.
fn each_block_once(scratch: &Scratch) -> String {
    writes(scratch.path(), "size=64m rate_iops=100") + " --json"
}

/// Waits until this host has written for so long.
fn for_longer(running: Running, scratch: &Scratch, host: &str, time: Duration) -> Running {
    let file = data_file(scratch.path(), host);
    let first = modified(&file).expect("a file");
    running.wait_until("the host writes on", move || {
        modified(&file).is_some_and(|now| now > first + time)
    })
}

fn kill(running: Running) {
    running.signal(Signal::KILL);
    running.finish();
}

/// Controller and agent are killed in the same moment. The stream has what the host recorded until some time before: of two seconds at
/// least the first half second, and no I/O that did not write a block of its file. Without a stream that host has no figures. Then the
/// stream has nothing of the run any more.
#[test]
fn a_resume_has_what_a_killed_agent_recorded() {
    require!(Nats);
    let scratch = Scratch::new().expect("scratch");
    let server = server(&scratch);
    let mut agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let command = stored(server.run("a,b", &each_block_once(&scratch)), &scratch);
    let controller = writing(start(command), scratch.path(), &["a", "b"]);
    let controller = for_longer(controller, &scratch, "b", Duration::from_secs(2));
    kill(controller);
    kill(agents.remove("b").expect("it runs"));
    assert!(kept(&server) > 0);
    server.wait_for(&["a"]);
    let ran = resume(&scratch, &["r1"]).expect(1);
    let result = ran.json();
    let lost = result.expect_finding("HOST_LOST");
    assert!(lost.starts_with("b: "), "{lost}");
    let hosts = hosts_of(&ran);
    let all = written(&scratch, "b");
    assert!(
        all > 150 && (50..=all).contains(&ok_ios(&hosts[1])),
        "{all} were written; {:#}",
        hosts[1]
    );
    assert_eq!(ok_ios(&hosts[0]), written(&scratch, "a"));
    assert_eq!(kept(&server), 0);
}

/// The server is killed and started again while the load runs: what was on its way is lost, and the agents send it again. When one
/// of them is killed later, the record of its load has no gap that would end it there.
#[test]
fn a_restarted_server_leaves_no_gap() {
    require!(Nats);
    let scratch = Scratch::new().expect("scratch");
    let mut server = server(&scratch);
    let mut agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let job = writes(scratch.path(), "size=64m rate_iops=100 io_size=2m") + " --json";
    let controller = writing(start(server.run("a,b", &job)), scratch.path(), &["a", "b"]);
    let controller = for_longer(controller, &scratch, "b", Duration::from_millis(700));
    // Longer than from one part to the next.
    let before = written(&scratch, "b");
    server.process = None;
    std::thread::sleep(Duration::from_millis(700));
    server.restart();
    let controller = for_longer(controller, &scratch, "b", Duration::from_millis(2500));
    kill(agents.remove("b").expect("it runs"));
    let ran = controller.finish().expect(1);
    let all = written(&scratch, "b");
    let recorded = ok_ios(&hosts_of(&ran)[1]);
    assert!(
        before < recorded && recorded <= all,
        "{before} before the restart, {recorded} of {all} I/Os\n{}",
        ran.err
    );
}

/// A server whose store is too small for the stream: the controller keeps what the hosts record, as without JetStream.
#[test]
fn a_server_without_room_for_a_stream_is_used_without_one() {
    require!(Nats);
    let scratch = Scratch::new().expect("scratch");
    let config = scratch.join("nats.conf");
    let text = format!(
        "jetstream {{ store_dir: \"{}\", max_file: 1M }}\n",
        scratch.join("streams").display()
    );
    fs::write(&config, text).expect("a file");
    let server = Server::with("", &["--config", config.to_str().expect("UTF-8")]);
    let mut agents = server.agents(&["a", "b"], scratch.path(), &[]);
    let job = writes(scratch.path(), "size=64m rate_iops=100 io_size=1m") + " --json";
    let controller = writing(start(server.run("a,b", &job)), scratch.path(), &["a", "b"]);
    let controller = for_longer(controller, &scratch, "b", Duration::from_millis(1500));
    kill(agents.remove("b").expect("it runs"));
    let ran = controller.finish().expect(1);
    let all = written(&scratch, "b");
    let recorded = ok_ios(&hosts_of(&ran)[1]);
    assert!(recorded > 50 && recorded <= all, "{recorded} of {all}");
}
