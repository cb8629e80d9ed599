//! Who is this device: sysfs and the device's own pages, turned into [`DeviceFacts`]. Pure but for the tree it is handed.

mod cache;
mod chain;
mod health;
mod identity;
mod link;
mod medium;
mod queue;
mod stack;
mod sysfs;
mod transport;

use std::cell::RefCell;

use fathom_model::{Bytes, DeviceFacts};

pub use self::chain::{Below, Machine, chain, device_names};
use self::sysfs::Folder;
pub use self::sysfs::{Sysfs, Unread, clean};

/// Everything sysfs says about the whole device of this kernel name. What is missing stays unknown; what is there and
/// does not answer is named in [`DeviceFacts::unread`].
#[must_use]
pub fn survey(sysfs: &dyn Sysfs, name: &str) -> DeviceFacts {
    let unread = RefCell::default();
    let mut facts = {
        // A slash in a device's name is an exclamation mark in sysfs.
        let link = format!("/sys/class/block/{}", name.replace('/', "!"));
        let Some(path) = sysfs.real(&link) else {
            return gone(name);
        };
        let folder = Folder::new(sysfs, path, &unread);
        surveyed(&folder, name)
    };
    facts.unread = unread.into_inner();
    facts.unread.sort();
    facts.unread.dedup();
    facts
}

fn gone(name: &str) -> DeviceFacts {
    let unread = vec!["the device is gone, or sysfs does not have it".to_owned()];
    DeviceFacts {
        name: clean(name.as_bytes()),
        unread,
        ..DeviceFacts::default()
    }
}

fn surveyed(folder: &Folder<'_>, name: &str) -> DeviceFacts {
    let identity = identity::identity(folder);
    let transport = transport::transport(folder, name, &identity);
    let queue = queue::queue(folder);
    let (medium, rpm) = medium::medium(folder, transport, &identity, queue.rotational);
    DeviceFacts {
        name: clean(name.as_bytes()),
        number: folder
            .text("dev")
            .and_then(|text| number(&text))
            .unwrap_or_default(),
        size: Bytes::new(folder.number("size").unwrap_or(0).saturating_mul(512)),
        read_only: folder.flag("ro").unwrap_or(false),
        removable: folder.flag("removable").unwrap_or(false),
        hypervisor: medium::hypervisor(folder, medium),
        identity,
        medium,
        rpm,
        transport,
        driver: transport::driver(folder),
        links: link::links(folder),
        queue,
        cache: cache::cache(folder, transport),
        array: stack::array(folder),
        backing: stack::backing(folder),
        built_on: folder
            .names("slaves")
            .iter()
            .map(|name| name.replace('!', "/"))
            .collect(),
        numa_node: transport::numa_node(folder),
        health: health::health(folder),
        unread: Vec::new(),
    }
}

/// `8:16`.
fn number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
