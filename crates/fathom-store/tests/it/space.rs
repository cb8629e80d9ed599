//! A full disk: reported, and everything saved before is readable when there is space again.

use crate::common::{body, cell};
use fathom_store::{CellContent, Experiment, Store, StoreError};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};

/// Regression 0180: after the first cell that did not fit, every later write to the store failed.
#[test]
fn a_full_disk_is_reported_and_the_store_works_when_there_is_space() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a disk");
    let disk =
        LoopDevice::create(&scratch.join("disk"), 8 << 20, LoopOptions::default()).expect("a disk");
    let mount = Mount::format(disk.path(), FsKind::Ext4, "").expect("a file system");
    let ballast = mount.join("ballast");
    std::fs::write(&ballast, vec![1; 3 << 20]).expect("it fits");
    let path = mount.join("store.db");
    let mut store = Store::open(&path).expect("the store fits");
    let run = store.begin(&Experiment::default()).expect("it fits");
    let content = |n| CellContent::Imported {
        format: "test".into(),
        bytes: [body(n), vec![n as u8; 100_000]].concat(),
    };
    let mut saved = 0;
    let error = loop {
        match store.save_cell(run, &cell(saved + 1), &content(saved + 1)) {
            Ok(()) => saved += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("no space left"), "{error}");
    assert!(saved > 5, "{saved}");
    assert_eq!(
        store.cells(run).expect("readable").len() as u64,
        saved,
        "the cell that did not fit left nothing behind"
    );
    std::fs::remove_file(&ballast).expect("the file is removed");
    store
        .save_cell(run, &cell(saved + 1), &content(saved + 1))
        .expect("there is space again");
    drop(store);
    let mut store = Store::open(&path).expect("a store");
    store.check().expect("it is intact");
    assert_eq!(store.cells(run).expect("readable").len() as u64, saved + 1);
    drop(store);
    mount.unmount().expect("nothing uses it");
}

#[test]
fn a_disk_without_space_for_a_store_is_reported() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a disk");
    let disk =
        LoopDevice::create(&scratch.join("disk"), 4 << 20, LoopOptions::default()).expect("a disk");
    let mount = Mount::format(disk.path(), FsKind::Ext4, "").expect("a file system");
    let mut ballast = std::fs::File::create(mount.join("ballast")).expect("it fits");
    while std::io::Write::write_all(&mut ballast, &[1; 1024]).is_ok() {}
    match Store::open(&mount.join("store.db")) {
        Err(StoreError::Full { .. }) => {}
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was opened"),
    }
    drop(ballast);
    mount.unmount().expect("nothing uses it");
}

/// Regression 0314: on a full disk nothing that had been stored could be read, because the log of the store needs an index
/// file. Both the store of a process that was killed, which has a log, and one that was closed are read.
#[test]
fn a_full_disk_does_not_keep_results_from_being_read() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a disk");
    for kind in [FsKind::Ext4, FsKind::Xfs, FsKind::Btrfs] {
        if let Err(why) = kind.available() {
            fathom_testkit::skip(&why);
            continue;
        }
        let size = if kind == FsKind::Ext4 {
            32 << 20
        } else {
            320 << 20
        };
        let disk = LoopDevice::create(
            &scratch.join(format!("{kind:?}")),
            size,
            LoopOptions::default(),
        )
        .expect("a disk");
        let mount = Mount::format(disk.path(), kind, "").expect("a file system");
        let (closed, killed) = (mount.join("closed.db"), mount.join("killed.db"));
        let mut store = Store::open(&closed).expect("the store fits");
        let run = store.begin(&Experiment::default()).expect("it fits");
        let content = |n| CellContent::Imported {
            format: "test".into(),
            bytes: body(n),
        };
        for n in 1..=5 {
            store
                .save_cell(run, &cell(n), &content(n))
                .expect("it fits");
        }
        // What a killed process leaves: the log beside the file, and no index.
        for end in ["", "-wal"] {
            let from = mount.join(format!("closed.db{end}"));
            std::fs::copy(from, mount.join(format!("killed.db{end}"))).expect("copied");
        }
        drop(store);
        let mut ballast = std::fs::File::create(mount.join("ballast")).expect("it fits");
        for block in [1 << 20, 4096, 1] {
            while std::io::Write::write_all(&mut ballast, &vec![1; block]).is_ok() {}
        }
        let _ = ballast.sync_all();
        for place in [&closed, &killed] {
            let mut store = Store::open_existing(place)
                .unwrap_or_else(|error| panic!("{kind:?}, {}: {error}", place.display()));
            let cells = store.cells(run).expect("readable");
            assert_eq!(cells.len(), 5, "{kind:?}, {}", place.display());
            store.check().expect("it is intact");
        }
        drop(ballast);
        mount.unmount().expect("nothing uses it");
    }
}
