//! Reference tables, each number with its formula and inputs.

mod arrays;
mod disks;
mod flash;
mod latency;
mod links;

pub(crate) use self::flash::write_amplification;
pub(crate) use self::links::link_rate;

use fathom_model::{DerivedAnswer, DerivedTable};

/// A reference table.
pub struct ReferenceTable {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    make: fn() -> DerivedAnswer,
}

impl ReferenceTable {
    /// Calculates it.
    #[must_use]
    pub fn make(&self) -> DerivedAnswer {
        (self.make)()
    }
}

const fn row(
    name: &'static str,
    about: &'static str,
    make: fn() -> DerivedAnswer,
) -> ReferenceTable {
    ReferenceTable { name, about, make }
}

/// All reference tables.
pub const TABLES: &[ReferenceTable] = &[
    row("rpm", "access time and IOPS of disks by speed", disks::rpm),
    row(
        "zones",
        "transfer rate of disks by position, and the time to read all of a disk",
        disks::zones,
    ),
    row(
        "working-set",
        "seek time and access time by the size of the accessed region",
        disks::working_set,
    ),
    row(
        "capacity",
        "IOPS for each TB: drives for capacity against drives for performance",
        disks::capacity,
    ),
    row(
        "raid",
        "disk operations, usable capacity and IOPS by RAID level",
        arrays::raid,
    ),
    row(
        "arrays",
        "IOPS and latency of RAID 5 arrays by queue depth",
        arrays::arrays,
    ),
    row(
        "links",
        "usable rates of links after coding and protocol",
        links::links,
    ),
    row(
        "drives-per-link",
        "number of drives until a link is full",
        links::drives_per_link,
    ),
    row(
        "latency",
        "latency by utilisation, and the load at a latency limit",
        latency::latency,
    ),
    row(
        "bursts",
        "p99 latency by burstiness of the arrivals",
        latency::bursts,
    ),
    row(
        "cache",
        "mean latency by hit share of a cache; cache against tier",
        latency::cache,
    ),
    row(
        "flash",
        "IOPS and latency of flash by queue depth, and write amplification",
        flash::flash,
    ),
    row(
        "coalescing",
        "small writes one by one and combined in a log",
        flash::coalescing,
    ),
    row(
        "split",
        "pieces of a request that the kernel splits, and their latency",
        flash::split,
    ),
];

/// The table of this name.
#[must_use]
pub fn reference_table(name: &str) -> Option<&'static ReferenceTable> {
    TABLES.iter().find(|table| table.name == name)
}

fn answer(tables: Vec<DerivedTable>, notes: &[&str]) -> DerivedAnswer {
    DerivedAnswer {
        tables,
        notes: notes.iter().map(|note| (*note).to_owned()).collect(),
        ..DerivedAnswer::default()
    }
}

fn table(caption: &str, columns: &[&str]) -> DerivedTable {
    DerivedTable {
        caption: caption.to_owned(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        rows: Vec::new(),
    }
}
