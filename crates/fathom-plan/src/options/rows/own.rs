//! Options of fathom that fio does not have. `fathom fio` does not know them.

use crate::options::typed::*;

job_options! {
    BLAME: Switch = boolean("blame", "Join each direct I/O with its requests in the block layer and report where its response time passed").default("0");
    HOST: Text = text("host", "With --hosts: run this job only on these hosts (names, or labels such as rack=3)");
}
