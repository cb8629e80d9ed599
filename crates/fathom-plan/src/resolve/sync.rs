//! When data is flushed to stable storage.

use fathom_model::{SyncMode, SyncPolicy};

use super::job::JobView;
use crate::options::table as opt;

/// Resolves when fsync and fdatasync are called.
pub(crate) fn resolve(view: &JobView<'_>) -> SyncPolicy {
    let settings = view.settings;
    SyncPolicy {
        fsync_every: settings.get_u32(opt::FSYNC),
        fdatasync_every: settings.get_u32(opt::FDATASYNC),
        fsync_at_end: settings.get(opt::END_FSYNC),
        fsync_on_close: settings.get(opt::FSYNC_ON_CLOSE),
        syncfs_at_end: settings.get(opt::END_SYNCFS),
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
