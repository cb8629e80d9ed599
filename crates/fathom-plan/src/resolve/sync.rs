//! When data is flushed to stable storage.

use fathom_model::{SyncMode, SyncPolicy};

use super::diagnostics::Diagnostics;
use super::job::JobView;
use crate::options::table as opt;

/// Resolves when fsync and fdatasync are called.
pub(crate) fn resolve(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> SyncPolicy {
    let settings = view.settings;
    let (range_every, range_flags) = match settings.given(opt::SYNC_FILE_RANGE).map(file_range) {
        None => (0, 0),
        Some(Ok(range)) => range,
        Some(Err(problem)) => {
            diagnostics.push(
                view.error(opt::SYNC_FILE_RANGE, problem)
                    .advise("for example wait_before,write,wait_after:8"),
            );
            (0, 0)
        }
    };
    SyncPolicy {
        range_every,
        range_flags,
        fsync_every: settings.get_u32(opt::FSYNC),
        fdatasync_every: settings.get_u32(opt::FDATASYNC),
        fsync_at_end: settings.get(opt::END_FSYNC),
        fsync_on_close: settings.get(opt::FSYNC_ON_CLOSE),
        syncfs_at_end: settings.get(opt::END_SYNCFS),
    }
}

/// `sync_file_range`: words that are flags of sync_file_range(2), and after a colon every how many writes.
fn file_range(text: &str) -> Result<(u32, u8), String> {
    let (words, every) = text.split_once(':').unwrap_or((text, "1"));
    let flags = words.split(',').try_fold(0, |flags, word| {
        Ok::<u8, String>(
            flags
                | match word.trim() {
                    "wait_before" => 1,
                    "write" => 2,
                    "wait_after" => 4,
                    other => return Err(format!("unknown flag '{other}'")),
                },
        )
    })?;
    match every.trim().parse() {
        Ok(every) if every > 0 => Ok((every, flags)),
        _ => Err(format!("'{every}' is not a number of writes")),
    }
}

/// `sync`: flags at open.
pub(crate) fn mode(view: &JobView<'_>) -> SyncMode {
    match view.settings.get(opt::SYNC) {
        "sync" | "1" => SyncMode::Sync,
        "dsync" => SyncMode::Dsync,
        _ => SyncMode::None,
    }
}
