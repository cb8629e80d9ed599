//! A run: one experiment of one or many cells, from its command to its end.

use crate::Simulated;
use crate::names::named;
use std::fmt;

/// The name of a run in its store: `r1`, `r2` and so on, given once and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u64);

impl RunId {
    /// The run with this number.
    #[must_use]
    pub const fn new(number: u64) -> RunId {
        RunId(number)
    }

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The run called `name`: `r12`, `R12` or `12`. `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<RunId> {
        let digits = name.strip_prefix(['r', 'R']).unwrap_or(name);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        digits.parse().ok().filter(|_| plain).map(RunId)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// What a run does, complete enough to resume it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Experiment {
    /// The command that started it: `run`, `quick`, `sweep`, `search`, `suite`, `import`.
    pub kind: String,
    /// Its name in lists: a job file, a target, the name of a suite.
    pub name: String,
    /// The command line as it was typed.
    pub command: Vec<String>,
    /// Everything needed to resume it, in a format of the command that started it.
    pub plan: String,
    /// Where it ran and with which versions: host, kernel, fathom, target, device.
    pub facts: Vec<(String, String)>,
    /// How many cells it will have; 0 while unknown.
    pub planned: u64,
    /// The process that runs it, in a form that its host can check; empty without one.
    pub owner: String,
    /// Wall clock at its start, nanoseconds since 1970.
    pub created_unix_ns: u64,
    /// Names with values by which it is found again: project, host, drive, firmware, kernel, ticket or any other.
    pub labels: Vec<(String, String)>,
}

/// The facts of a run that has measured a simulated device.
#[must_use]
pub fn simulated_facts(simulated: &Simulated) -> [(String, String); 2] {
    [
        ("simulated".to_owned(), simulated.device.clone()),
        ("seed".to_owned(), simulated.seed.to_string()),
    ]
}

/// The simulated device that the facts of a run name; `None` for a run that measured.
#[must_use]
pub fn simulated_in(facts: &[(String, String)]) -> Option<Simulated> {
    let fact = |name: &str| facts.iter().find(|(known, _)| known == name);
    let (_, device) = fact("simulated")?;
    let seed = fact("seed").and_then(|(_, seed)| seed.parse().ok());
    Some(Simulated {
        device: device.clone(),
        seed: seed.unwrap_or_default(),
    })
}

impl Experiment {
    /// The simulated device; `None` for a run that measured.
    #[must_use]
    pub fn simulated(&self) -> Option<Simulated> {
        simulated_in(&self.facts)
    }

    /// Its kind in lists: `sweep`, or `sweep (simulated)`.
    #[must_use]
    pub fn shown_kind(&self) -> String {
        match self.simulated() {
            Some(_) => format!("{} (simulated)", self.kind),
            None => self.kind.clone(),
        }
    }
}

/// Most characters of the name and of the value of a label.
const LABEL_CHARS: usize = 200;

/// A label `KEY=VALUE` of a run. The value may be empty, which commands that set labels take as a request to remove it.
///
/// # Errors
/// What is wrong with it.
pub fn parse_label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("not KEY=VALUE, such as project=apollo")?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = |char: char| char.is_ascii_alphanumeric() || "_-.".contains(char);
    if name.is_empty() || !name.chars().all(is_name) {
        return Err("the key of a label has letters of ASCII, digits and _-. only".to_owned());
    }
    if value.chars().any(char::is_control) {
        return Err("the value of a label has no control characters".to_owned());
    }
    if name.len() > LABEL_CHARS || value.chars().count() > LABEL_CHARS {
        return Err(format!(
            "the key and the value of a label have {LABEL_CHARS} characters at most"
        ));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// A run in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// What it does.
    pub experiment: Experiment,
    /// Its state.
    pub state: RunState,
    /// Wall clock at its end, nanoseconds since 1970; `None` before.
    pub ended_unix_ns: Option<u64>,
    /// Stored cells, of any state.
    pub cells: u64,
    /// Those of them that are finished.
    pub finished: u64,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Its process is running, or was killed.
    Running,
    /// It completed.
    Finished,
    /// It was stopped before the end and can be resumed.
    Stopped,
}

named!(RunState {
    Running => "running",
    Finished => "finished",
    Stopped => "stopped",
});

impl RunState {
    /// The state with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<RunState> {
        RunState::ALL
            .iter()
            .copied()
            .find(|state| state.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulated_run_is_known_by_its_facts() {
        let simulated = Simulated {
            device: "hdd-7200".to_owned(),
            seed: 7,
        };
        let run = Experiment {
            kind: "sweep".to_owned(),
            facts: simulated_facts(&simulated).to_vec(),
            ..Experiment::default()
        };
        assert_eq!(run.simulated(), Some(simulated));
        assert_eq!(run.shown_kind(), "sweep (simulated)");
        assert_eq!(Experiment::default().simulated(), None);
    }

    #[test]
    fn labels_are_parsed() {
        let label = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(parse_label("project=apollo"), label("project", "apollo"));
        assert_eq!(parse_label(" ticket = a=b "), label("ticket", "a=b"));
        assert_eq!(parse_label("drive="), label("drive", ""));
        for text in ["", "project", "=x", "a b=x", "a'b=x", "a=x\ny"] {
            assert!(parse_label(text).is_err(), "{text:?}");
        }
        let long = "é".repeat(LABEL_CHARS);
        assert!(parse_label(&format!("a={long}")).is_ok());
        assert!(parse_label(&format!("a={long}x")).is_err());
    }

    #[test]
    fn run_names_are_parsed() {
        assert_eq!(RunId(12).to_string(), "r12");
        for name in ["r12", "R12", "12"] {
            assert_eq!(RunId::parse(name), Some(RunId(12)), "{name}");
        }
        for name in [
            "",
            "r",
            "r0",
            "012",
            "rr1",
            "+1",
            "-1",
            "1.5",
            "r99999999999999999999",
            "latest",
            "１",
        ] {
            assert_eq!(RunId::parse(name), None, "{name}");
        }
    }
}
