//! No room: said, and everything that was kept before is there when there is room again.

mod common;

use common::{body, cell};
use fathom_store::{Content, Experiment, Store, StoreError};
use fathom_testkit::{FsKind, LoopDevice, LoopOptions, Mount, Scratch, require};

/// Regression 0180: after the first cell that found no room nothing could be changed any more.
#[test]
fn a_full_disk_is_said_and_the_store_goes_on_when_there_is_room() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a disk");
    let disk =
        LoopDevice::create(&scratch.join("disk"), 8 << 20, LoopOptions::default()).expect("a disk");
    let mount = Mount::format(disk.path(), FsKind::Ext4, "").expect("a file system");
    let ballast = mount.join("ballast");
    std::fs::write(&ballast, vec![1; 3 << 20]).expect("room");
    let place = mount.join("store.db");
    let mut store = Store::open(&place).expect("room for a store");
    let run = store.begin(&Experiment::default()).expect("room");
    let content = |n| Content::Imported {
        format: "test".into(),
        bytes: [body(n), vec![n as u8; 100_000]].concat(),
    };
    let mut kept = 0;
    let error = loop {
        match store.save_cell(run, &cell(kept + 1), &content(kept + 1)) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(error.to_string().contains("no room"), "{error}");
    assert!(kept > 5, "{kept}");
    assert_eq!(
        store.cells(run).expect("readable").len() as u64,
        kept,
        "the cell that found no room left nothing behind"
    );
    std::fs::remove_file(&ballast).expect("our own file");
    store
        .save_cell(run, &cell(kept + 1), &content(kept + 1))
        .expect("there is room again");
    drop(store);
    let mut store = Store::open(&place).expect("a store");
    store.check().expect("it is sound");
    assert_eq!(store.cells(run).expect("readable").len() as u64, kept + 1);
    drop(store);
    mount.unmount().expect("nobody uses it");
}

#[test]
fn a_disk_without_room_for_a_store_is_said() {
    require!(Root, Loop);
    let scratch = Scratch::new().expect("a disk");
    let disk =
        LoopDevice::create(&scratch.join("disk"), 4 << 20, LoopOptions::default()).expect("a disk");
    let mount = Mount::format(disk.path(), FsKind::Ext4, "").expect("a file system");
    let mut ballast = std::fs::File::create(mount.join("ballast")).expect("room");
    while std::io::Write::write_all(&mut ballast, &[1; 1024]).is_ok() {}
    match Store::open(&mount.join("store.db")) {
        Err(StoreError::Full { .. }) => {}
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("it was opened"),
    }
    drop(ballast);
    mount.unmount().expect("nobody uses it");
}
