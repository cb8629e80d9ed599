//! Everything that `fathom devices` shows of a target.

use super::TargetRecording;

/// One target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetOverview {
    /// The target and the devices below it.
    pub target: TargetRecording,
    /// One line that identifies it.
    pub headline: String,
    /// Label and text of what the target guard found.
    pub lines: Vec<(&'static str, String)>,
    /// Its content, and whether it may be written.
    pub safety: DeviceSafety,
    /// What to consider when measuring it, one sentence each.
    pub concerns: Vec<String>,
    /// Names of the data sheets that match its lowest device.
    pub sheets: Vec<String>,
}

/// Content and uses of a target.
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
    pub write: WritePermission,
}

/// Whether a target may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WritePermission {
    /// It is empty, or fathom wrote its content.
    Allowed,
    /// With this destroy code.
    NeedsCode(String),
    /// It must not be written, for this reason.
    Refused(String),
    /// Not checked.
    #[default]
    Unknown,
}
