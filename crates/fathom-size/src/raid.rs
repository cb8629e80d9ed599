//! RAID levels: usable capacity, and disk operations for each read and write.

use std::fmt;
use std::str::FromStr;

use fathom_model::Derivation;

use crate::derive::{calculate, input};

/// A RAID level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaidLevel {
    /// Drives without redundancy, striped.
    Raid0,
    /// Two drives with the same data.
    Raid1,
    /// Stripes over pairs.
    Raid10,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
}

/// The text is not a RAID level, or the level cannot have so many drives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RaidError {
    /// Another text.
    #[error("unknown RAID level '{0}'; use 0, 1, 10, 5 or 6")]
    Unknown(String),
    /// Too few, too many or an odd number of drives.
    #[error("{level} of {drives} drives is impossible: it needs {needs}")]
    Drives {
        /// The level.
        level: RaidLevel,
        /// The number of drives.
        drives: u32,
        /// What the level needs.
        needs: &'static str,
    },
}

impl FromStr for RaidLevel {
    type Err = RaidError;

    fn from_str(text: &str) -> Result<Self, RaidError> {
        let plain = text.trim().to_ascii_lowercase();
        match plain
            .strip_prefix("raid")
            .unwrap_or(&plain)
            .trim_start_matches(['-', ' '])
        {
            "0" => Ok(RaidLevel::Raid0),
            "1" => Ok(RaidLevel::Raid1),
            "10" | "1+0" => Ok(RaidLevel::Raid10),
            "5" => Ok(RaidLevel::Raid5),
            "6" => Ok(RaidLevel::Raid6),
            _ => Err(RaidError::Unknown(
                text.chars()
                    .take(40)
                    .collect::<String>()
                    .escape_debug()
                    .to_string(),
            )),
        }
    }
}

impl fmt::Display for RaidLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RaidLevel::Raid0 => "RAID 0",
            RaidLevel::Raid1 => "RAID 1",
            RaidLevel::Raid10 => "RAID 10",
            RaidLevel::Raid5 => "RAID 5",
            RaidLevel::Raid6 => "RAID 6",
        })
    }
}

/// Why disk operations are as many as they are; the source of the penalties.
const RULE: &str = "definition of the RAID level (SNIA DDF: striping, mirroring, parity)";

impl RaidLevel {
    /// All levels.
    pub const ALL: [RaidLevel; 5] = [
        RaidLevel::Raid0,
        RaidLevel::Raid1,
        RaidLevel::Raid10,
        RaidLevel::Raid5,
        RaidLevel::Raid6,
    ];

    /// Disk operations for one small random write.
    #[must_use]
    pub const fn write_penalty(self) -> f64 {
        match self {
            RaidLevel::Raid0 => 1.0,
            RaidLevel::Raid1 | RaidLevel::Raid10 => 2.0,
            RaidLevel::Raid5 => 4.0,
            RaidLevel::Raid6 => 6.0,
        }
    }

    /// The disk reads and the disk writes of one small write.
    #[must_use]
    pub const fn write_operations(self) -> &'static str {
        match self {
            RaidLevel::Raid0 => "0 + 1",
            RaidLevel::Raid1 | RaidLevel::Raid10 => "0 + 2",
            RaidLevel::Raid5 => "2 + 2",
            RaidLevel::Raid6 => "3 + 3",
        }
    }

    /// Drives that are written by one small write.
    #[must_use]
    pub const fn drives_written(self) -> f64 {
        match self {
            RaidLevel::Raid0 => 1.0,
            RaidLevel::Raid1 | RaidLevel::Raid10 | RaidLevel::Raid5 => 2.0,
            RaidLevel::Raid6 => 3.0,
        }
    }

    /// Drives of one group that hold no unique data; `None` for mirrors, where it is half.
    #[must_use]
    pub const fn parity_drives(self) -> Option<u32> {
        match self {
            RaidLevel::Raid0 => Some(0),
            RaidLevel::Raid1 | RaidLevel::Raid10 => None,
            RaidLevel::Raid5 => Some(1),
            RaidLevel::Raid6 => Some(2),
        }
    }

    /// The smallest number of drives.
    #[must_use]
    pub const fn least_drives(self) -> u32 {
        match self {
            RaidLevel::Raid0 => 1,
            RaidLevel::Raid1 => 2,
            RaidLevel::Raid10 | RaidLevel::Raid6 => 4,
            RaidLevel::Raid5 => 3,
        }
    }

    /// Whether data survive the failure of any one drive.
    #[must_use]
    pub const fn is_redundant(self) -> bool {
        !matches!(self, RaidLevel::Raid0)
    }

    /// Whether the level can have so many drives.
    ///
    /// # Errors
    /// When it cannot, with what it needs.
    pub fn check(self, drives: u32) -> Result<(), RaidError> {
        let (possible, needs) = match self {
            RaidLevel::Raid0 => (drives >= 1, "at least 1 drive"),
            RaidLevel::Raid1 => (drives == 2, "exactly 2 drives"),
            RaidLevel::Raid10 => (
                drives >= 4 && drives.is_multiple_of(2),
                "an even number of at least 4 drives",
            ),
            RaidLevel::Raid5 => (drives >= 3, "at least 3 drives"),
            RaidLevel::Raid6 => (drives >= 4, "at least 4 drives"),
        };
        if possible {
            Ok(())
        } else {
            Err(RaidError::Drives {
                level: self,
                drives,
                needs,
            })
        }
    }

    /// The number of groups into which so many drives are divided, with at most `group` in each.
    #[must_use]
    pub fn groups(self, drives: u32, group: u32) -> u32 {
        match self.parity_drives() {
            Some(0) => 1,
            Some(_) => drives.div_ceil(group.max(self.least_drives())),
            None => drives / 2,
        }
    }

    /// The drives whose capacity is usable.
    #[must_use]
    pub fn data_drives(self, drives: u32, group: u32) -> Derivation {
        let drives_input = input("drives", f64::from(drives), "", "this table or option");
        match self.parity_drives() {
            Some(parity) => {
                let groups = self.groups(drives, group);
                calculate(
                    "data_drives",
                    "",
                    "drives - groups * parity",
                    vec![
                        drives_input,
                        input(
                            "groups",
                            f64::from(groups),
                            "",
                            "drives / drives of a group, rounded up",
                        ),
                        input("parity", f64::from(parity), "", RULE),
                    ],
                )
            }
            None => calculate("data_drives", "", "drives / 2", vec![drives_input]),
        }
    }

    /// Disk operations for one I/O of the load.
    #[must_use]
    pub fn operations(self, read_share: f64) -> Derivation {
        calculate(
            "operations_per_io",
            "",
            "reads + (1 - reads) * write_penalty",
            vec![
                input("reads", read_share, "", "the load"),
                input("write_penalty", self.write_penalty(), "", RULE),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_in_the_usual_spellings() {
        for (text, level) in [
            ("10", RaidLevel::Raid10),
            ("raid5", RaidLevel::Raid5),
            ("RAID 6", RaidLevel::Raid6),
            ("1+0", RaidLevel::Raid10),
        ] {
            assert_eq!(text.parse(), Ok(level));
        }
        for wrong in ["", "50", "raid", "five"] {
            let error = wrong.parse::<RaidLevel>().expect_err(wrong).to_string();
            assert!(error.contains("0, 1, 10, 5 or 6"), "{error}");
        }
    }

    #[test]
    fn impossible_arrays_are_refused() {
        let impossible = [
            (
                RaidLevel::Raid6,
                3,
                "RAID 6 of 3 drives is impossible: it needs at least 4 drives",
            ),
            (
                RaidLevel::Raid5,
                2,
                "RAID 5 of 2 drives is impossible: it needs at least 3 drives",
            ),
            (RaidLevel::Raid10, 7, "an even number"),
            (RaidLevel::Raid1, 3, "exactly 2 drives"),
            (RaidLevel::Raid0, 0, "at least 1 drive"),
        ];
        for (level, drives, message) in impossible {
            let error = level.check(drives).expect_err(message).to_string();
            assert!(error.contains(message), "{error}");
        }
        assert_eq!(RaidLevel::Raid6.check(4), Ok(()));
    }

    /// 24 drives in groups of 8: 3 parities of RAID 5, 6 of RAID 6, half for mirrors.
    #[test]
    fn groups_have_a_parity_each() {
        let usable = RaidLevel::ALL.map(|level| level.data_drives(24, 8).value);
        assert_eq!(usable, [24.0, 12.0, 12.0, 21.0, 18.0]);
        assert_eq!(RaidLevel::Raid5.data_drives(9, 8).value, 7.0);
    }
}
