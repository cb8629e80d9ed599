//! The answer of `fathom why`: a conclusion, how sure it is, what speaks for and against it, and what to do.

use fathom_model::Certainty;

use super::evidence::WhyCost;

/// Why programs wait for storage, or that they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhyCause {
    /// A file system does not answer: FUSE, network.
    FileSystemHang,
    /// A device does not complete what it was given.
    DeviceHang,
    /// A limit of a control group.
    ControlGroup,
    /// Pages come back from swap space.
    Swap,
    /// Memory is short, so that files are read again and again.
    Memory,
    /// The page cache is full of unwritten data.
    Writeback,
    /// A member of an array is slower than the others.
    ArrayMember,
    /// Flushes of the device's cache.
    Flush,
    /// The burst credits of a volume are used up.
    BurstCredits,
    /// Another program uses the device.
    Neighbour,
    /// The device itself takes long.
    SlowDevice,
    /// The program has one I/O at a time.
    OneAtATime,
    /// The program itself uses the device fully.
    DeviceBusy,
    /// Storage is not the reason.
    NotStorage,
    /// What was seen does not tell.
    #[default]
    NotKnown,
}

impl WhyCause {
    /// The name of the cause in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FileSystemHang => "file_system_hang",
            Self::DeviceHang => "device_hang",
            Self::ControlGroup => "control_group",
            Self::Swap => "swap",
            Self::Memory => "memory",
            Self::Writeback => "writeback",
            Self::ArrayMember => "array_member",
            Self::Flush => "flush",
            Self::BurstCredits => "burst_credits",
            Self::Neighbour => "neighbour",
            Self::SlowDevice => "slow_device",
            Self::OneAtATime => "one_at_a_time",
            Self::DeviceBusy => "device_busy",
            Self::NotStorage => "not_storage",
            Self::NotKnown => "not_known",
        }
    }
}

/// What something in a finding is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhySubject {
    /// `waits`, `uses`, `device`, `group`, `mount` or `file`.
    pub role: &'static str,
    /// Its name.
    pub name: String,
    /// The number of a process.
    pub pid: Option<u32>,
}

/// A cause with its evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhyFinding {
    /// The cause.
    pub cause: WhyCause,
    /// How sure it is.
    pub certainty: Certainty,
    /// One sentence with the figures.
    pub sentence: String,
    /// The measurement that would settle it, if it is not a fact.
    pub settled_by: Option<String>,
    /// Who and what it is about.
    pub subjects: Vec<WhySubject>,
    /// Figures by name; the unit is the end of the name.
    pub figures: Vec<(&'static str, f64)>,
    /// What speaks for it.
    pub evidence_for: Vec<String>,
    /// What speaks against it, or for a rival.
    pub evidence_against: Vec<String>,
    /// What can be done now. Nothing of it makes data less safe or ends a program.
    pub actions: Vec<String>,
}

impl WhyFinding {
    /// A cause that is sure.
    #[must_use]
    pub fn fact(cause: WhyCause, sentence: String) -> Self {
        Self {
            cause,
            certainty: Certainty::Fact,
            sentence,
            ..Self::default()
        }
    }

    /// A cause with an open rival.
    #[must_use]
    pub fn likely(cause: WhyCause, sentence: String, settled_by: &str) -> Self {
        Self {
            certainty: Certainty::Likely,
            settled_by: Some(settled_by.to_owned()),
            ..Self::fact(cause, sentence)
        }
    }

    /// The same as a fact only where `is_sure`.
    #[must_use]
    pub fn sure_if(is_sure: bool, cause: WhyCause, sentence: String, settled_by: &str) -> Self {
        if is_sure {
            Self::fact(cause, sentence)
        } else {
            Self::likely(cause, sentence, settled_by)
        }
    }

    /// Adds who or what it is about.
    #[must_use]
    pub fn about(mut self, role: &'static str, name: &str, pid: Option<u32>) -> Self {
        self.subjects.push(WhySubject {
            role,
            name: name.to_owned(),
            pid,
        });
        self
    }

    /// Adds a figure.
    #[must_use]
    pub fn figure(mut self, name: &'static str, value: f64) -> Self {
        self.figures.push((name, value));
        self
    }

    /// Adds what speaks for it.
    #[must_use]
    pub fn because(mut self, sentence: String) -> Self {
        self.evidence_for.push(sentence);
        self
    }

    /// Adds what speaks against it.
    #[must_use]
    pub fn although(mut self, sentence: String) -> Self {
        self.evidence_against.push(sentence);
        self
    }

    /// Adds what can be done.
    #[must_use]
    pub fn advise(mut self, sentence: impl Into<String>) -> Self {
        self.actions.push(sentence.into());
        self
    }
}

/// A thread that did not run during the whole observation.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckThread {
    /// Its process.
    pub pid: u32,
    /// Name of the process.
    pub name: String,
    /// It has waited at least so long.
    pub seconds: f64,
    /// The system call, where it is known.
    pub call: Option<&'static str>,
    /// The file, where it is known.
    pub file: Option<String>,
    /// The mount of the file, where it is known.
    pub mount: Option<String>,
}

/// The whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WhyAnswer {
    /// What was asked for; empty: the whole machine.
    pub scope: String,
    /// Seconds between the readings.
    pub seconds: f64,
    /// The conclusion.
    pub finding: WhyFinding,
    /// Other causes that take a share.
    pub also: Vec<WhyFinding>,
    /// Devices with I/O, busiest first, each in one sentence.
    pub devices: Vec<String>,
    /// Who uses them, largest first.
    pub uses: Vec<String>,
    /// Who waits, longest first.
    pub waits: Vec<String>,
    /// What is stuck now.
    pub stuck: Vec<StuckThread>,
    /// What was not looked at.
    pub not_looked_at: Vec<String>,
    /// Processes that were read.
    pub processes: u64,
    /// Looks at waiting threads.
    pub looks: u64,
    /// What it cost.
    pub cost: WhyCost,
}
