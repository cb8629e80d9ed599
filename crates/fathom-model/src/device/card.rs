//! Everything that `fathom devices` shows of a target.

use super::TargetRecording;

/// One target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceCard {
    /// It and the devices below it.
    pub target: TargetRecording,
    /// One line that identifies it.
    pub headline: String,
    /// Label and text of what the target guard found.
    pub lines: Vec<(&'static str, String)>,
    /// What is on it, and whether it may be written.
    pub standing: DeviceSafety,
    /// What to consider when measuring it, one sentence each.
    pub concerns: Vec<String>,
    /// Names of the data sheets that fit the device it ends on.
    pub sheets: Vec<String>,
}

/// What is on a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSafety {
    /// Partitions, by kernel name.
    pub partitions: Vec<String>,
    /// Devices built on it, by kernel name.
    pub holders: Vec<String>,
    /// Mounts, swap and similar uses, as text.
    pub uses: Vec<String>,
    /// Mount points of it and of everything on it.
    pub mounted_at: Vec<String>,
    /// What its first and last MiB contain, as text; `None` where unreadable.
    pub holds: Option<Vec<String>>,
    /// Whether it may be written.
    pub write: WriteAnswer,
}

/// Whether a target may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WriteAnswer {
    /// Yes: it is empty, or its content is fathom's.
    Free,
    /// With this code.
    WithCode(String),
    /// No, for this reason.
    Never(String),
    /// Not checked.
    #[default]
    Unknown,
}
