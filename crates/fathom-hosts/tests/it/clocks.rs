//! The starts of hosts whose clocks differ, through networks that change, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use fathom_hosts::protocol::Job;
use fathom_hosts::{
    Agent, AgentSetup, Controller, Finished, Selection, SimulatedHost, Simulation, StartSignal,
};

const MS: Duration = Duration::from_millis(1);
const HOSTS: [&str; 3] = ["a", "b", "c"];

/// Numbers that look random, the same in each run (Knuth's multiplicative generator).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A host whose messages are delayed or lost for some spans of the first three seconds.
    fn host(&mut self) -> SimulatedHost {
        let spans = (0..6).map(|_| {
            let from = MS * self.below(3_000) as u32;
            let to = from + MS * self.below(700) as u32;
            let is_lost = self.below(4) == 0;
            (from..to, (!is_lost).then(|| MS * self.below(200) as u32))
        });
        SimulatedHost {
            network: spans.collect(),
            ahead: MS * self.below(1_000_000) as u32,
            wall: Arc::new(|now| now),
        }
    }
}

/// Carries out one job. Its recording is the true time of its start.
fn work(simulation: &Simulation, agent: &Agent, preparation: Duration) {
    while agent.next_job(MS * 1_000).is_none() {}
    simulation.sleep_until(simulation.now() + preparation);
    match agent.wait_for_start(&|| false) {
        StartSignal::Now(epoch_ns) => agent.finish(Finished {
            document: simulation.now().as_nanos().to_string().into_bytes(),
            epoch_ns,
        }),
        StartSignal::Never => agent.fail("not started".to_owned(), false),
    }
    // Until the controller has the result.
    while !agent.is_free() {
        simulation.sleep_until(simulation.now() + MS * 100);
    }
}

/// How late the hosts began by what is reported and in truth, and the bound of the former, nanoseconds; none of a run that was not started.
fn lates(seed: u64) -> Vec<(i64, i64, i64)> {
    let simulation = Simulation::begin();
    let mut numbers = Numbers(seed);
    for name in HOSTS {
        let connection = simulation.connect(numbers.host());
        let setup = AgentSetup {
            name: name.to_owned(),
            ..AgentSetup::default()
        };
        let agent = Agent::start(connection, setup).expect("an agent");
        let preparation = MS * numbers.below(1_000) as u32;
        let own = Arc::clone(&simulation);
        let body = move || work(&own, &agent, preparation);
        simulation.spawn(name, Box::new(body)).expect("a thread");
    }
    let own = SimulatedHost {
        network: Vec::new(),
        ..numbers.host()
    };
    let controller = Controller::new(simulation.connect(own), "test", "0").expect("a controller");
    let selection = Selection::Names(HOSTS.map(str::to_owned).to_vec());
    let Ok(agents) = controller.find(&selection, &[], &|| false) else {
        return Vec::new();
    };
    let ran = controller.run(&agents, &|_| Job::default(), None, &|| 0, &mut |_| {});
    let lates = ran.into_iter().flatten().filter_map(|host| {
        let document = String::from_utf8(host.document.ok()?).expect("a number");
        let truth = document.parse().expect("a number");
        Some((host.epoch_late_ns, truth, host.late_bound_ns as i64))
    });
    lates.collect()
}

/// The reported difference between the starts of any two hosts is the true one, within the error bounds of both, whatever delays and losses the
/// network had.
#[test]
fn the_true_start_is_within_its_bound() {
    let (mut pairs, mut late) = (0, 0);
    for seed in 0..150 {
        let hosts = lates(seed);
        for (one, other) in hosts.iter().zip(hosts.iter().skip(1)) {
            let error = (one.0 - other.0) - (one.1 - other.1);
            assert!(error.abs() <= one.2 + other.2, "{seed}: {hosts:?}");
            pairs += 1;
            late += u32::from(one.1 != other.1);
        }
    }
    // Most runs begin, and some hosts of them late.
    assert!(
        pairs > 150 && late > 10,
        "{pairs} pairs, {late} of them apart"
    );
}
