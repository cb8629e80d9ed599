//! When data is made durable.

use fathom_model::{SyncMode, SyncPolicy};

use super::job::View;

/// Resolves the calls of fsync and fdatasync.
pub(crate) fn resolve(view: &View<'_>) -> SyncPolicy {
    let settings = view.settings;
    SyncPolicy {
        fsync_every: settings.small("fsync", 0),
        fdatasync_every: settings.small("fdatasync", 0),
        fsync_at_end: settings.switch("end_fsync"),
        fsync_on_close: settings.switch("fsync_on_close"),
        syncfs_at_end: settings.switch("end_syncfs"),
    }
}

/// `sync`: flags at open.
pub(crate) fn mode(view: &View<'_>) -> SyncMode {
    match view.settings.choice("sync", "none").0 {
        "sync" | "1" => SyncMode::Sync,
        "dsync" => SyncMode::Dsync,
        _ => SyncMode::None,
    }
}
