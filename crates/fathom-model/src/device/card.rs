//! A target with everything there is to say about it: what `fathom devices` shows.

use super::TargetRecording;

/// One target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceCard {
    /// It and the devices below it.
    pub target: TargetRecording,
    /// One line that says which thing this is.
    pub headline: String,
    /// Label and text of what the target guard found.
    pub lines: Vec<(&'static str, String)>,
    /// What is on it, and whether it may be written.
    pub standing: DeviceSafety,
    /// What a measurement on it should mind, one sentence each.
    pub concerns: Vec<String>,
    /// Names of the data sheets that fit the device it ends on.
    pub sheets: Vec<String>,
}

/// What stands on a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSafety {
    /// Partitions, by kernel name.
    pub partitions: Vec<String>,
    /// Devices built on it, by kernel name.
    pub holders: Vec<String>,
    /// Mounts, swap and the like, in words.
    pub uses: Vec<String>,
    /// Mount points of it and of all that stands on it.
    pub mounted_at: Vec<String>,
    /// What its first and last MiB hold, in words; `None` where they could not be read.
    pub holds: Option<Vec<String>>,
    /// Whether it may be written.
    pub write: WriteAnswer,
}

/// Whether a target may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WriteAnswer {
    /// Yes: nothing is on it, or what is on it is ours.
    Free,
    /// With this code.
    WithCode(String),
    /// No, for this reason.
    Never(String),
    /// It was not judged.
    #[default]
    Unknown,
}
