//! One suite that every engine must pass, and tests of special behaviour.

mod faults;
mod refusals;
mod special;
mod suite;
mod support;
mod target;

use fathom_model::EngineKind;

use crate::engines::support::Case;

macro_rules! engines {
    ($($name:ident: $case:expr;)*) => {
        $(#[test]
        fn $name() {
            suite::run(&$case);
        })*
    };
}

engines! {
    sync: Case::new(EngineKind::Sync, 1);
    psync: Case::new(EngineKind::Psync, 1);
    pvsync: Case::new(EngineKind::Pvsync, 1);
    pvsync2: Case::new(EngineKind::Pvsync2, 1);
    mmap: Case::new(EngineKind::Mmap, 1);
    vsync_1: Case::new(EngineKind::Vsync, 1);
    vsync_32: Case::new(EngineKind::Vsync, 32);
    libaio_1: Case::new(EngineKind::Libaio, 1);
    libaio_32: Case::new(EngineKind::Libaio, 32);
    posixaio_1: Case::new(EngineKind::PosixAio, 1);
    posixaio_16: Case::new(EngineKind::PosixAio, 16);
    io_uring_1: Case::new(EngineKind::IoUring, 1);
    io_uring_32: Case::new(EngineKind::IoUring, 32);
    io_uring_registered: Case::new(EngineKind::IoUring, 32).set(|settings| {
        settings.fixed_buffers = true;
        settings.register_files = true;
    });
    io_uring_vectored: Case::new(EngineKind::IoUring, 7).set(|settings| settings.vectored = true);
    io_uring_async: Case::new(EngineKind::IoUring, 8).set(|settings| settings.force_async = 3);
    io_uring_sq_poll: Case::new(EngineKind::IoUring, 8).set(|settings| {
        settings.sq_poll = true;
        settings.register_files = true;
    });
}
