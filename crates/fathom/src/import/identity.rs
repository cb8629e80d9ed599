//! What distinguishes the results of several drives: their folders and the devices that they name.

use std::collections::BTreeSet;

use fathom_model::Entry;

/// The properties of a result that tell its drive from others; empty where all results agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The folder, as far as it differs from the others.
    pub folder: Option<String>,
    /// The device in `filename`.
    pub drive: Option<String>,
}

/// The place of one result.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    folder: String,
    drive: Option<String>,
}

impl Place {
    /// The place of a result that was read from `file`.
    pub(crate) fn of(
        file: Option<&String>,
        entries: &[Entry],
        globals: &[(String, Option<String>)],
    ) -> Place {
        let folder = file
            .and_then(|file| file.rsplit_once('/'))
            .map_or(String::new(), |(folder, _)| folder.to_owned());
        Place {
            folder,
            drive: drive(entries, globals),
        }
    }
}

/// The device that every job of a result uses. Files are not devices: their names may differ
/// between the points of one sweep.
pub(crate) fn drive(entries: &[Entry], globals: &[(String, Option<String>)]) -> Option<String> {
    let of_entry = |entry: &Entry| {
        let mut all = entry.options.iter().chain(globals);
        all.find(|(name, _)| name == "filename")
            .and_then(|(_, value)| value.as_deref()?.strip_prefix("/dev/").map(str::to_owned))
    };
    let all: BTreeSet<Option<String>> = entries.iter().map(of_entry).collect();
    (all.len() == 1).then(|| all.into_iter().next().flatten())?
}

/// The identities of results that are used together.
pub(crate) fn identities(places: &[Place]) -> Vec<Identity> {
    let folders: BTreeSet<&str> = places.iter().map(|place| place.folder.as_str()).collect();
    let drives: BTreeSet<&Option<String>> = places.iter().map(|place| &place.drive).collect();
    let common = common_folder(&folders);
    places
        .iter()
        .map(|place| Identity {
            folder: (folders.len() > 1).then(|| shortened(&place.folder, common)),
            drive: place.drive.clone().filter(|_| drives.len() > 1),
        })
        .collect()
}

impl Identity {
    /// Folder and drive; `alone` if all results agree.
    pub(crate) fn name(&self, alone: &str) -> String {
        let parts: Vec<&str> = [self.folder.as_deref(), self.drive.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        if parts.is_empty() {
            alone.to_owned()
        } else {
            parts.join(" ")
        }
    }
}

/// Length of the path, with its slash, that all folders have in common.
fn common_folder(folders: &BTreeSet<&str>) -> usize {
    let (Some(first), Some(last)) = (folders.first(), folders.last()) else {
        return 0;
    };
    let same = first
        .bytes()
        .zip(last.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    first[..first.floor_char_boundary(same)]
        .rfind('/')
        .map_or(0, |at| at + 1)
}

fn shortened(folder: &str, common: usize) -> String {
    let own = folder.get(common..).unwrap_or_default();
    if own.is_empty() { "." } else { own }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(filename: &str) -> Entry {
        Entry {
            options: vec![("filename".to_owned(), Some(filename.to_owned()))],
            ..Entry::default()
        }
    }

    fn names(results: &[(&str, &[Entry])]) -> Vec<String> {
        let places: Vec<Place> = results
            .iter()
            .map(|(file, entries)| Place::of(Some(&(*file).to_owned()), entries, &[]))
            .collect();
        identities(&places)
            .iter()
            .map(|one| one.name("alone"))
            .collect()
    }

    #[test]
    fn folders_and_devices_name_results_where_they_differ() {
        let none: &[Entry] = &[];
        assert_eq!(
            names(&[("a/x.json", none), ("a/y.json", none)]),
            ["alone", "alone"]
        );
        assert_eq!(
            names(&[("r/sda/random/x.json", none), ("r/sdb/random/x.json", none)]),
            ["sda/random", "sdb/random"]
        );
        assert_eq!(
            names(&[("r/x.json", none), ("r/sub/x.json", none)]),
            ["r", "r/sub"]
        );
        let (sda, sdb) = (entry("/dev/sda"), entry("/dev/sdb"));
        assert_eq!(
            names(&[
                ("a/x.json", std::slice::from_ref(&sda)),
                ("a/y.json", std::slice::from_ref(&sdb))
            ]),
            ["sda", "sdb"]
        );
        // Parallel jobs on several devices, and files, name no drive.
        assert_eq!(
            names(&[("a/x.json", &[sda, sdb]), ("a/y.json", &[entry("f")])]),
            ["alone", "alone"]
        );
    }
}
