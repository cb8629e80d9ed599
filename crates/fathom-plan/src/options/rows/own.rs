//! Options of fathom that fio does not have. `fathom fio` does not know them.

use crate::options::typed::*;

job_options! {
    BLAME: Switch = boolean("blame", "Join each direct I/O with its requests in the block layer and report where its response time passed").default("0");
}
