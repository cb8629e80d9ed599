//! The lists of scratch devices: of the user (`~/.config/fathom/scratch.toml`) and of the system (`/etc/fathom/scratch.toml`).

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use fathom_cli::ScratchAction;
use fathom_device::{
    Confirmations, DestroyCode, Fingerprint, Intent, ScratchDevice, ScratchId, ScratchList, Span,
    Target, TargetFacts, judge_with,
};
use fathom_linux::{OutputName, Outputs, examine, examine_without_samples};
use fathom_model::Bytes;

use crate::machine::Contents;
use crate::outcome::Outcome;
use crate::print::{eprint_line, print};
use crate::session::Session;
use crate::toml_files::{read, user_path};

const NAME: &str = "scratch.toml";
const SYSTEM: &str = "/etc/fathom/scratch.toml";
const ROOT: u32 = 0;

/// Both lists, for the guard. A list that cannot be trusted or read permits nothing, with a message.
pub fn scratch_lists() -> ScratchList {
    let mut all = ScratchList::default();
    for (path, owners) in paths() {
        match load(&path, &owners) {
            Ok(list) => list.0.into_iter().for_each(|device| {
                // The user's entry is newer: only that one is renewed after a run.
                if all.find(&device.id).is_none() {
                    all.insert(device);
                }
            }),
            Err(problem) => eprint_line!("ignored {}: {problem}", path.display()),
        }
    }
    all
}

/// The list of the user, then that of the system, each with the users that it may belong to.
fn paths() -> Vec<(PathBuf, Vec<u32>)> {
    let user = rustix::process::geteuid().as_raw();
    user_path(NAME)
        .map(|path| (path, vec![user, ROOT]))
        .into_iter()
        .chain([(PathBuf::from(SYSTEM), vec![ROOT])])
        .collect()
}

/// The list in `path`. Neither the file nor its directory may be writable by others than `owners`.
fn load(path: &Path, owners: &[u32]) -> Result<ScratchList, String> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ScratchList::default()),
        Err(error) => return Err(error.to_string()),
        Ok(_) => {}
    }
    for checked in [Some(path), path.parent()].into_iter().flatten() {
        let facts = std::fs::metadata(checked).map_err(|error| error.to_string())?;
        if !owners.contains(&facts.uid()) || facts.mode() & 0o022 != 0 {
            let who = if owners == [ROOT] { "root" } else { "the user" };
            return Err(format!(
                "{} must belong to {who} and be writable by nobody else",
                checked.display()
            ));
        }
    }
    ScratchList::parse(&read(path)?)
}

fn save(path: &Path, list: &ScratchList) -> Result<(), String> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    Outputs::default()
        .write(path, OutputName::Implicit, list.to_text().as_bytes())
        .map_err(|error| error.to_string())
}

/// `fathom devices --scratch`.
pub fn command(
    action: ScratchAction,
    names: &[String],
    code: Option<&str>,
    system: bool,
) -> Result<Outcome, String> {
    let (path, owners) = own_list(system)?;
    if action == ScratchAction::List {
        return list_devices(names, code, system);
    }
    if names.is_empty() {
        return Err("--scratch add and --scratch remove need a device".to_owned());
    }
    let mut list =
        load(&path, &owners).map_err(|problem| format!("{}: {problem}", path.display()))?;
    let mut text = String::new();
    for name in names {
        let device = match action {
            ScratchAction::Add => add(name, code, &mut list)?,
            _ => remove(name, code, &mut list)?,
        };
        let done = if action == ScratchAction::Add {
            "added to"
        } else {
            "removed from"
        };
        text += &format!("{done} {}: {}\n", path.display(), device.description());
    }
    save(&path, &list)?;
    Ok(print(&text))
}

/// The list to change.
fn own_list(system: bool) -> Result<(PathBuf, Vec<u32>), String> {
    let mut all = paths();
    let last = all.pop().filter(|_| system);
    if system && !rustix::process::geteuid().is_root() {
        return Err(format!("--system changes {SYSTEM}, which only root may do"));
    }
    last.or_else(|| all.pop())
        .ok_or_else(|| "cannot locate the list: neither XDG_CONFIG_HOME nor HOME is set".to_owned())
}

fn list_devices(names: &[String], code: Option<&str>, system: bool) -> Result<Outcome, String> {
    if !names.is_empty() || code.is_some() {
        return Err("--scratch list takes no device and no --destroy".to_owned());
    }
    let mut text = String::new();
    for (path, owners) in paths() {
        if system && path != Path::new(SYSTEM) {
            continue;
        }
        let list =
            load(&path, &owners).map_err(|problem| format!("{}: {problem}", path.display()))?;
        text += &format!("{}:\n", path.display());
        for device in &list.0 {
            text += &format!("  {}\n", device.description());
        }
        if list.0.is_empty() {
            text += "  no devices\n";
        }
    }
    Ok(print(&text))
}

/// Adds a device that its code permits to write now.
fn add(name: &str, code: Option<&str>, list: &mut ScratchList) -> Result<ScratchDevice, String> {
    let examined = examine(Path::new(name)).map_err(|error| error.to_string())?;
    let facts = examined.facts();
    let Target::Block(block) = &facts.target else {
        return Err(format!("{}: not a block device", name.escape_debug()));
    };
    let id = ScratchId::of(block).ok_or_else(|| {
        format!(
            "{}: it has no WWN and no serial number, so it cannot be recognised later",
            name.escape_debug()
        )
    })?;
    let codes: Vec<DestroyCode> = code
        .map(|code| code.parse().map_err(|error| format!("--destroy: {error}")))
        .transpose()?
        .into_iter()
        .collect();
    let whole = Intent::write(Span::new(Bytes::ZERO, block.size));
    judge_with(facts, &whole, &Confirmations::of_codes(&codes))
        .map_err(|refusal| refusal.to_string())?;
    let code = fingerprint(facts).ok_or("its contents cannot be read")?;
    let device = ScratchDevice {
        id,
        code,
        path: facts.resolved.clone(),
    };
    list.insert(device.clone());
    Ok(device)
}

/// Removes a device, by its path or, if it is gone, by the path that `--scratch list` shows.
fn remove(name: &str, code: Option<&str>, list: &mut ScratchList) -> Result<ScratchDevice, String> {
    if code.is_some() {
        return Err("--scratch remove takes no --destroy".to_owned());
    }
    let present = examine_without_samples(Path::new(name)).ok();
    let id = present.and_then(|examined| scratch_id(examined.facts()));
    let entry = list
        .0
        .iter()
        .position(|device| Some(&device.id) == id.as_ref())
        .or_else(|| {
            list.0
                .iter()
                .position(|device| device.path == Path::new(name))
        });
    match entry {
        Some(at) => Ok(list.0.remove(at)),
        None => Err(format!(
            "{} is not on the list; `fathom devices --scratch list` shows it",
            name.escape_debug()
        )),
    }
}

/// Whether a list has the device `path`.
pub fn is_scratch(session: &Session, path: &Path) -> bool {
    let examined = session.examine(path, Contents::Ends).ok();
    let id = examined.and_then(|examined| scratch_id(examined.facts()));
    id.is_some_and(|id| session.scratch_list().find(&id).is_some())
}

fn scratch_id(facts: &TargetFacts) -> Option<ScratchId> {
    match &facts.target {
        Target::Block(block) => ScratchId::of(block),
        _ => None,
    }
}

fn fingerprint(facts: &TargetFacts) -> Option<DestroyCode> {
    Fingerprint::of(facts).map(|fingerprint| fingerprint.code())
}

/// After a run that wrote the devices `written`: records the contents it left on scratch devices where they look like a known
/// structure, such as the rest of an old file system that a part of the device was written over. Nobody else could write them,
/// because the run had claimed them.
pub fn renew(written: &[PathBuf]) {
    if written.is_empty() {
        return;
    }
    let lists = scratch_lists();
    if lists.0.is_empty() {
        return;
    }
    for path in written {
        if let Err(problem) = renew_one(path, &lists) {
            eprint_line!(
                "{}: the list of scratch devices was not renewed: {problem}",
                path.display()
            );
        }
    }
}

fn renew_one(path: &Path, lists: &ScratchList) -> Result<(), String> {
    let quick = examine_without_samples(path).map_err(|error| error.to_string())?;
    let Target::Block(block) = &quick.facts().target else {
        return Ok(());
    };
    let structured = block
        .ends
        .as_ref()
        .is_some_and(|ends| !ends.signatures.is_empty());
    let Some(entry) = ScratchId::of(block)
        .filter(|_| structured)
        .and_then(|id| lists.find(&id))
    else {
        return Ok(());
    };
    let examined = examine(path).map_err(|error| error.to_string())?;
    if scratch_id(examined.facts()).as_ref() != Some(&entry.id) {
        return Ok(());
    }
    let code = fingerprint(examined.facts()).ok_or("its contents cannot be read")?;
    if code == entry.code {
        return Ok(());
    }
    let (path, owners) = own_list(false)?;
    let mut list = load(&path, &owners)?;
    list.insert(ScratchDevice {
        code,
        ..entry.clone()
    });
    save(&path, &list)
}
