//! The parameters of a flash device.

use crate::error::{ParameterError, require};

/// Bytes of one mapped page.
pub const MAPPED_PAGE: u64 = 4096;

/// What the device holds when the simulation starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing: reads are answered from the map.
    Empty,
    /// All pages written once, in order: no garbage collection until the spare blocks are used.
    Filled,
    /// The steady state of random writes over the whole device.
    Random,
}

/// A part of the flash that stores one bit per cell and takes writes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcCache {
    /// Bytes that are always available.
    pub fixed_bytes: u64,
    /// Bytes that are available at most while enough of the device is unmapped.
    pub dynamic_bytes: u64,
    /// Bits that a cell stores outside the cache: a byte of the dynamic part takes the space of
    /// this many unmapped bytes.
    pub bits_per_cell: u32,
    /// Time to program one multi-plane page, ns.
    pub program_ns: u64,
    /// Rate at which the cache empties while no writes arrive, bytes/s.
    pub fold_bytes_per_s: u64,
    /// Time without writes after which it begins to empty, ns.
    pub fold_after_ns: u64,
}

/// The parameters of a flash device. A limit of 0 means: unlimited.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashParameters {
    /// Bytes that the host can address.
    pub capacity_bytes: u64,
    /// Channels; each transfers for one die at a time.
    pub channels: u32,
    /// Chips per channel.
    pub chips_per_channel: u32,
    /// Dies per chip; each does one operation at a time.
    pub dies_per_chip: u32,
    /// Planes per die, programmed and erased together.
    pub planes: u32,
    /// Bytes of a flash page of one plane.
    pub page_bytes: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Mean time to read a page into the register of the die (tR), ns.
    pub read_ns: u64,
    /// Pages of the three types (lower, middle, upper) take this share less, the mean and this
    /// share more than `read_ns`.
    pub read_spread: f64,
    /// Time to program one multi-plane page (tPROG), ns.
    pub program_ns: u64,
    /// Time to erase a block (tBERS), ns.
    pub erase_ns: u64,
    /// Rate of one channel, bytes/s.
    pub channel_bytes_per_s: u64,
    /// Time until a read may start when it suspends a program, ns; `None`: it waits for the end.
    pub program_suspend_ns: Option<u64>,
    /// The same for an erase.
    pub erase_suspend_ns: Option<u64>,
    /// Rate of the link to the host, bytes/s; 0: unlimited (the link is a device of its own).
    pub link_bytes_per_s: u64,
    /// Whether the link transfers in one direction at a time (SATA).
    pub half_duplex: bool,
    /// Time that each command occupies the link or the command processor, ns.
    pub command_ns: u64,
    /// Requests that the device accepts; more wait at the host. 0: unlimited.
    pub queue_depth: u32,
    /// Firmware time of a read before the flash is accessed, ns; many proceed at once.
    pub read_overhead_ns: u64,
    /// Time from the arrival of the data in the write buffer to the completion, ns.
    pub buffer_ns: u64,
    /// Bytes of the write buffer.
    pub buffer_bytes: u64,
    /// Whether buffered data survives a power loss: then flush and FUA do not wait for programs.
    pub power_loss_protection: bool,
    /// Bytes read ahead of a sequential stream; 0: none.
    pub read_ahead_bytes: u64,
    /// Sequential streams that it follows at once.
    pub read_ahead_streams: u32,
    /// Physical space beyond the capacity, as a share of the capacity.
    pub over_provisioning: f64,
    /// Whether garbage collection takes time; without it, write amplification is 1.
    pub garbage_collection: bool,
    /// The single-bit cache, if there is one.
    pub slc: Option<SlcCache>,
    /// The content at the start.
    pub precondition: Precondition,
}

impl FlashParameters {
    /// Dies of the device.
    #[must_use]
    pub fn dies(&self) -> u32 {
        self.channels * self.chips_per_channel * self.dies_per_chip
    }

    /// Mapped pages in one multi-plane page: what a die programs at once.
    #[must_use]
    pub fn group_pages(&self) -> u32 {
        self.planes * (u64::from(self.page_bytes) / MAPPED_PAGE) as u32
    }

    /// Checks that such a device can exist.
    ///
    /// # Errors
    /// The first parameter with an impossible value.
    pub fn check(&self) -> Result<(), ParameterError> {
        let counts = [
            ("channels", self.channels),
            ("chips_per_channel", self.chips_per_channel),
            ("dies_per_chip", self.dies_per_chip),
            ("planes", self.planes),
            ("pages_per_block", self.pages_per_block),
        ];
        for (name, value) in counts {
            require(
                (1..=4096).contains(&value),
                name,
                format!("{value} is outside 1 to 4096"),
            )?;
        }
        let dies = u64::from(self.channels)
            * u64::from(self.chips_per_channel)
            * u64::from(self.dies_per_chip);
        require(
            dies <= 65_536,
            "dies_per_chip",
            format!("{dies} dies in all; at most 65536 are possible"),
        )?;
        require(
            u64::from(self.page_bytes).is_multiple_of(MAPPED_PAGE)
                && (4096..=1 << 20).contains(&self.page_bytes),
            "page",
            format!("{} is not a multiple of 4096 up to 1 MiB", self.page_bytes),
        )?;
        require(
            self.capacity_bytes.is_multiple_of(MAPPED_PAGE)
                && (1 << 20..=1 << 50).contains(&self.capacity_bytes),
            "capacity",
            format!(
                "{} is not a multiple of 4096 from 1 MiB to 1 PiB",
                self.capacity_bytes
            ),
        )?;
        self.check_times()?;
        require(
            self.channel_bytes_per_s >= 1_000_000,
            "channel_rate",
            format!("{} is below 1 MB/s", self.channel_bytes_per_s),
        )?;
        require(
            self.link_bytes_per_s == 0 || self.link_bytes_per_s >= 1_000_000,
            "link_rate",
            format!("{} is below 1 MB/s (0: no limit)", self.link_bytes_per_s),
        )?;
        let group = u64::from(self.group_pages()) * MAPPED_PAGE;
        require(
            self.buffer_bytes >= 2 * group,
            "buffer",
            format!(
                "{} is less than two multi-plane pages ({})",
                self.buffer_bytes,
                2 * group
            ),
        )?;
        require(
            (0.02..=10.0).contains(&self.over_provisioning),
            "over_provisioning",
            format!("{} is outside 0.02 to 10", self.over_provisioning),
        )?;
        require(
            (0.0..1.0).contains(&self.read_spread),
            "read_spread",
            format!("{} is outside 0 to 1", self.read_spread),
        )?;
        if let Some(slc) = &self.slc {
            require(
                (1..=8).contains(&slc.bits_per_cell),
                "slc_bits_per_cell",
                format!("{} is outside 1 to 8", slc.bits_per_cell),
            )?;
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ParameterError> {
        const SECOND: u64 = 1_000_000_000;
        let needed = [
            ("read_time", self.read_ns),
            ("program_time", self.program_ns),
            ("erase_time", self.erase_ns),
            ("slc_program_time", self.slc.map_or(1, |slc| slc.program_ns)),
        ];
        for (name, value) in needed {
            require(
                (1..=SECOND).contains(&value),
                name,
                format!("{value} ns is outside 1 ns to 1 s"),
            )?;
        }
        let optional = [
            ("command_time", self.command_ns),
            ("read_overhead", self.read_overhead_ns),
            ("buffer_time", self.buffer_ns),
            ("program_suspend", self.program_suspend_ns.unwrap_or(0)),
            ("erase_suspend", self.erase_suspend_ns.unwrap_or(0)),
        ];
        for (name, value) in optional {
            require(value <= SECOND, name, format!("{value} ns is above 1 s"))?;
        }
        Ok(())
    }
}
