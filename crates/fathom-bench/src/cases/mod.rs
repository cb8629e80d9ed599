//! The cases, each with its jobs.

mod agreement;
mod arrivals;
mod cached;
mod disk;
mod fsync;
mod import;
mod longrun;
mod memory;
mod noop;
mod null;
mod observe;
mod rings;
mod sim;
mod start;
mod verify;
mod zipf;

use crate::context::Context;
use crate::row::Row;

/// One case.
pub struct Case {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&Context) -> Result<Vec<Row>, String>,
}

/// All of them, in the order in which they run.
pub const CASES: [Case; 16] = [
    Case {
        name: "agreement",
        about: "agreement of both on one file on a disk",
        run: agreement::run,
    },
    Case {
        name: "null",
        about: "cost of an I/O without a device",
        run: null::run,
    },
    Case {
        name: "cached",
        about: "random reads of a file in memory",
        run: cached::run,
    },
    Case {
        name: "disk",
        about: "speed and CPU time on a disk",
        run: disk::run,
    },
    Case {
        name: "observe",
        about: "cost of watching the block layer of a disk",
        run: observe::run,
    },
    Case {
        name: "rings",
        about: "possible gain of jobs that share one ring",
        run: rings::run,
    },
    Case {
        name: "noop",
        about: "no-ops on an io_uring, with and without accounting",
        run: noop::run,
    },
    Case {
        name: "arrivals",
        about: "Poisson arrivals at a rate",
        run: arrivals::run,
    },
    Case {
        name: "zipf",
        about: "skewed offsets over 2^32 blocks",
        run: zipf::run,
    },
    Case {
        name: "start",
        about: "a job of one I/O",
        run: start::run,
    },
    Case {
        name: "memory",
        about: "memory of a run that logs every I/O",
        run: memory::run,
    },
    Case {
        name: "verify",
        about: "cost of stamps",
        run: verify::run,
    },
    Case {
        name: "import",
        about: "fio results imported and plotted, against fio-plot",
        run: import::run,
    },
    Case {
        name: "fsync",
        about: "methods of committing, beside pg_test_fsync",
        run: fsync::run,
    },
    Case {
        name: "longrun",
        about: "memory of ten minutes at half a million I/Os per second",
        run: longrun::run,
    },
    Case {
        name: "sim",
        about: "simulated I/Os per second",
        run: sim::run,
    },
];

/// Takes many minutes: runs only when it is named.
pub const CLEAN: Case = Case {
    name: "verify-clean",
    about: "100 GiB verified without a false alarm",
    run: verify::clean,
};
