//! The engines of this program.

use fathom_model::EngineKind;

/// The built-in engines.
pub(crate) const ENGINES: [EngineKind; 23] = [
    EngineKind::Sync,
    EngineKind::Psync,
    EngineKind::Vsync,
    EngineKind::Pvsync,
    EngineKind::Pvsync2,
    EngineKind::Libaio,
    EngineKind::IoUring,
    EngineKind::PosixAio,
    EngineKind::Mmap,
    EngineKind::Null,
    EngineKind::Splice,
    EngineKind::Falloc,
    EngineKind::Ftruncate,
    EngineKind::FileCreate,
    EngineKind::FileStat,
    EngineKind::FileDelete,
    EngineKind::DirCreate,
    EngineKind::DirStat,
    EngineKind::DirDelete,
    EngineKind::PageFault,
    EngineKind::Cpuio,
    EngineKind::Exec,
    EngineKind::Rbd,
];

/// The built-in engine of this name; fio reads the name up to a colon.
pub(crate) fn engine_by_name(name: &str) -> Option<EngineKind> {
    let head = name.split([':', ',']).next().unwrap_or("");
    let head = match head {
        // Names that fio also accepts.
        "aio" | "linuxaio" => EngineKind::Libaio.name(),
        head => head,
    };
    ENGINES.into_iter().find(|kind| kind.name() == head)
}
