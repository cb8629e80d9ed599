//! What happens to the host.

use super::{ONE_SERVER, Scene, check, closed, paced};

/// An I/O is due every 5 ms. Of a stop of 28 ms, five I/Os are more than 5 ms late (28, 23, 18, 13 and 8), of one of 25 ms four, and five
/// is the limit.
#[test]
fn a_stopped_generator() {
    check(
        "GENERATOR_STALL",
        &[
            paced(
                &["at = '1s', stop_generator = '50ms'"],
                Some("fell behind by up to 50.0 ms"),
            ),
            paced(
                &["at = '1s', stop_generator = '90ms'"],
                Some("Its watchdog woke 90.0 ms late at 1.00 s of the run."),
            ),
            paced(
                &["at = '1s', stop_generator = '28ms'"],
                Some("fell behind by up to 28.0 ms; 5 I/Os were submitted more than 5.00 ms late"),
            ),
            paced(&["at = '1s', stop_generator = '25ms'"], None),
            paced(&[], None),
            // The target is slow, not the generator.
            paced(
                &["at = '1s', stall_device = '/dev/a', lasts = '90ms'"],
                None,
            ),
        ],
    );
}

/// 3 of 6 s are half of the time: 1.2 % of them are 0.6 %, 0.8 % are 0.4 %, and half a per cent is the limit.
#[test]
fn stolen_cpu_time() {
    check(
        "STEAL",
        &[
            closed(
                &["at = '1s', steal_cpu = '20%', lasts = '3s'"],
                Some("Steal 10 % of CPU time"),
            ),
            closed(
                &["at = '1s', steal_cpu = '1.2%', lasts = '3s'"],
                Some("Steal 0.6 % of CPU time"),
            ),
            closed(&["at = '1s', steal_cpu = '0.8%', lasts = '3s'"], None),
            closed(&[], None),
        ],
    );
}

/// `slow_cpu` is the speed that is left of 3,000 MHz; a fall by a fifth is the limit.
#[test]
fn slowed_cpus() {
    check(
        "CPU_SLOWED",
        &[
            closed(
                &["at = '2s', slow_cpu = '25%', lasts = '8s'"],
                Some("3000 MHz in the first quarter and at 750 MHz in the last, 75 % slower"),
            ),
            closed(
                &["at = '2s', slow_cpu = '79%', lasts = '8s'"],
                Some("21 % slower"),
            ),
            closed(&["at = '2s', slow_cpu = '81%', lasts = '8s'"], None),
            closed(&[], None),
        ],
    );
}

/// Two per cent of four seconds are 80 ms, 1.3 % of the run; one per cent is the limit.
#[test]
fn memory_pressure() {
    check(
        "MEMORY_PRESSURE",
        &[
            closed(
                &["at = '1s', memory_pressure = '2%', lasts = '4s'"],
                Some("waited for memory for 80.0 ms of the run (1.3 %)"),
            ),
            closed(&["at = '1s', memory_pressure = '1.4%', lasts = '4s'"], None),
            closed(&[], None),
        ],
    );
}

/// A step of 50 ms is the limit; one backwards is one too.
#[test]
fn a_step_of_the_wall_clock() {
    check(
        "WALL_CLOCK_STEPPED",
        &[
            closed(
                &["at = '1s', step_clock = '60ms'"],
                Some("The wall clock stepped by +60.0 ms"),
            ),
            closed(
                &["at = '1s', step_clock = '60ms', back = true"],
                Some("The wall clock stepped by -60.0 ms"),
            ),
            closed(&["at = '1s', step_clock = '49ms'"], None),
            closed(&[], None),
        ],
    );
}

/// A hypervisor that takes CPU time shows that the machine is virtual. Of 5,000 writes each hundredth is followed by a flush, but for the
/// last one.
#[test]
fn flushes_in_a_virtual_machine() {
    let scene = |events, load, evidence| Scene {
        model: ONE_SERVER,
        events,
        load,
        evidence,
    };
    let stolen: &[&str] = &["at = '1s', steal_cpu = '1%', lasts = '1s'"];
    check(
        "FLUSH_UNPROVEN",
        &[
            scene(
                stolen,
                "--rw=randwrite --fsync=100 --runtime=5",
                Some("49 flushes took 1.00 us on average"),
            ),
            scene(&[], "--rw=randwrite --fsync=100 --runtime=5", None),
            scene(stolen, "--rw=randwrite --runtime=5", None),
        ],
    );
}
