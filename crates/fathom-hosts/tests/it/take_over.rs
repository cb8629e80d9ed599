//! A controller that is gone, and one that takes its run over, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use fathom_hosts::protocol::Job;
use fathom_hosts::{
    Agent, AgentSetup, Controller, Finished, HostResult, Selection, SimulatedHost, Simulation,
    StartSignal,
};

const MS: Duration = Duration::from_millis(1);
/// The load of a job.
const LOAD_TIME: Duration = Duration::from_secs(10);
/// From the command to the start of the load.
const LEAD_MS: u64 = 300;
/// When the first controller is gone.
const GONE_MS: u64 = 2_000;

/// A host whose messages are lost from a time on.
fn host(ahead: u64, gone: Option<Duration>) -> SimulatedHost {
    SimulatedHost {
        ahead: Duration::from_secs(ahead),
        wall: Arc::new(|now| now),
        network: gone
            .map(|from| (from..Duration::MAX, None))
            .into_iter()
            .collect(),
    }
}

/// Carries out jobs, each a pause whose recording is its length in milliseconds.
fn work(agent: &Agent) {
    let clock = agent.clock();
    loop {
        if agent.next_job(LOAD_TIME).is_none() {
            continue;
        }
        let StartSignal::Now(at) = agent.wait_for_start(&|| false) else {
            agent.fail("not started".to_owned(), false);
            continue;
        };
        let begun = clock.now();
        while clock.now() < begun + LOAD_TIME && agent.stop_reason().is_none() {
            clock.sleep_until(clock.now() + 20 * MS);
        }
        let took = (clock.now() - begun).as_millis();
        agent.finish(Finished {
            document: took.to_string().into_bytes(),
            epoch_ns: at,
        });
    }
}

/// Two hosts with agents, which wait for jobs until the end of the test.
fn simulation() -> Arc<Simulation> {
    let simulation = Simulation::begin();
    for (number, name) in (1..).zip(["a", "b"]) {
        let connection = simulation.connect(host(number * 100, None));
        let setup = AgentSetup {
            name: name.to_owned(),
            ..AgentSetup::default()
        };
        let agent = Agent::start(connection, setup).expect("an agent");
        let spawned = simulation.spawn(name, Box::new(move || work(&agent)));
        spawned.expect("a thread");
    }
    simulation
}

fn names() -> Vec<String> {
    ["a", "b"].map(str::to_owned).to_vec()
}

/// A run of both hosts by a controller.
fn run(controller: &Controller) -> Vec<HostResult> {
    let found = controller.find(&Selection::Names(names()), &[], &|| false);
    let agents = found.expect("both answer");
    let ran = controller.run(&agents, &|_| Job::default(), None, &|| 0, &mut |_| {});
    ran.expect("it begins")
}

/// The lengths of the loads in milliseconds.
fn lengths(results: &[HostResult]) -> Vec<u64> {
    let length = |host: &HostResult| {
        let document = host.document.clone().expect("a recording");
        let text = String::from_utf8(document).expect("a number");
        text.parse().expect("a number")
    };
    results.iter().map(length).collect()
}

/// What the hosts give to a controller that takes over at `at`, where the first one was gone after 2 s.
fn taken_over(simulation: &Arc<Simulation>, at: Duration) -> Vec<HostResult> {
    let gone = host(0, Some(GONE_MS as u32 * MS));
    let first = Controller::new(simulation.connect(gone), "first", "0").expect("a controller");
    let session = first.session().to_owned();
    let alone = move || {
        let results = run(&first);
        assert!(results.iter().all(|host| host.document.is_err()));
    };
    simulation
        .spawn("first", Box::new(alone))
        .expect("a thread");
    simulation.sleep_until(at);
    let connection = simulation.connect(host(0, None));
    let second = Controller::resume(connection, "second", "0", &session).expect("a controller");
    let taken = second.take_over(&names(), None, &|| 0, &mut |_| {});
    taken.expect("both answer")
}

/// The second controller takes over within the lease: the load of each host goes on to its end, and they began at one instant.
#[test]
fn a_load_goes_on_when_its_run_is_taken_over() {
    let simulation = simulation();
    let results = taken_over(&simulation, 3_000 * MS);
    assert_eq!(lengths(&results), [LOAD_TIME.as_millis() as u64; 2]);
    let late = results
        .iter()
        .map(|host| (host.epoch_late_ns, host.late_bound_ns));
    assert!(late.eq([(0, 0); 2]));
    assert!(simulation.now() < LOAD_TIME + 1_000 * MS);
}

/// A minute later: each load has ended 1.5 s after the last message of the first controller, which it says every 250 ms, and the agents
/// have kept the recordings, also behind another run that had its result.
#[test]
fn a_recording_is_kept_for_a_controller_that_comes_late() {
    let simulation = simulation();
    let ended = GONE_MS + 1_500 - LEAD_MS;
    let between = {
        let simulation = Arc::clone(&simulation);
        move || {
            simulation.sleep_until(30_000 * MS);
            let connection = simulation.connect(host(0, None));
            let other = Controller::new(connection, "other", "0").expect("a controller");
            assert_eq!(lengths(&run(&other)), [LOAD_TIME.as_millis() as u64; 2]);
        }
    };
    simulation
        .spawn("other", Box::new(between))
        .expect("a thread");
    for length in lengths(&taken_over(&simulation, 60_000 * MS)) {
        assert!((ended - 270..=ended + 20).contains(&length), "{length}");
    }
}

/// An agent that has a recording which nobody fetched is busy for 10 s after its load has ended, then free.
#[test]
fn an_agent_is_free_when_nobody_fetches_its_recording() {
    let simulation = simulation();
    let gone = host(0, Some(GONE_MS as u32 * MS));
    let first = Controller::new(simulation.connect(gone), "first", "0").expect("a controller");
    let alone = move || drop(run(&first));
    simulation
        .spawn("first", Box::new(alone))
        .expect("a thread");
    let connection = simulation.connect(host(0, None));
    let second = Controller::new(connection, "second", "0").expect("a controller");
    let find = |at: Duration| {
        simulation.sleep_until(at);
        second.find(&Selection::Names(names()), &[], &|| false)
    };
    // The load ended at 3.5 s at the latest, and at 3.23 s at the earliest. A search takes 3 s.
    let busy = find(10_000 * MS).expect_err("busy").to_string();
    assert!(busy.contains("a is busy with the run of first"), "{busy}");
    assert_eq!(find(13_700 * MS).expect("both are free").len(), 2);
    assert!(simulation.now() < 14_000 * MS);
}
