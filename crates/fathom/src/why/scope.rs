//! What the question is about: a path, processes, a unit, or the whole machine.

use std::path::{Path, absolute};

use fathom_cli::WhyArgs;
use fathom_linux::WhyReader;
use fathom_trace::WhyScope;

use crate::observe::target::ObservedTarget;

/// The scope of the arguments, and what it leaves out.
///
/// # Errors
/// When a path, a process or a unit does not exist.
pub fn find_scope(
    args: &WhyArgs,
    reader: &WhyReader,
) -> Result<(WhyScope, Option<String>), String> {
    if let Some(path) = &args.path {
        return find_scope_of_path(path, reader);
    }
    let mut scope = WhyScope::default();
    if let Some(unit) = &args.unit {
        let group = reader
            .group_of_unit(unit)
            .ok_or_else(|| format!("--unit: no unit or control group '{unit}'"))?;
        scope.name = format!("control group {group}");
        scope.group = Some(group);
    } else if !args.pid.is_empty() {
        let target = ObservedTarget::of(None, &args.pid, None, reader.block_devices())?;
        scope.name = target.name;
        scope.pids.clone_from(&args.pid);
    } else if !args.command.is_empty() {
        scope.name = args.command.join(" ");
    }
    Ok((scope, None))
}

/// A path is not touched where its file system may not answer.
fn find_scope_of_path(
    path: &Path,
    reader: &WhyReader,
) -> Result<(WhyScope, Option<String>), String> {
    let full = absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mounts = reader.mounts();
    let below = mounts.iter().filter(|mount| full.starts_with(&mount.at));
    let mount = below.max_by_key(|mount| mount.at.len());
    let name = path.display().to_string();
    if let Some(mount) = mount.filter(|mount| mount.is_served()) {
        let note = format!(
            "{name}: it is on {} ({}), which has no block device; the whole machine was looked at",
            mount.at, mount.kind
        );
        return Ok((WhyScope::default(), Some(note)));
    }
    let target = ObservedTarget::of(Some(path), &[], None, reader.block_devices())?;
    let scope = WhyScope {
        name,
        devices: target.devices,
        ..WhyScope::default()
    };
    Ok((scope, None))
}
