//! Identifies a device: sysfs and the device's own pages, converted to [`DeviceFacts`]. Pure except
//! for reading the given tree.

mod cache;
mod chain;
mod health;
mod identity;
mod link;
mod medium;
mod queue;
mod stack;
mod sysfs_dir;
mod transport;

use std::cell::RefCell;

use fathom_model::{Bytes, DeviceFacts};

pub use self::chain::{BackingDevices, Machine, chain, device_names};
use self::sysfs_dir::SysfsDir;
pub use self::sysfs_dir::{ReadFailure, Sysfs, clean};

/// Everything sysfs says about the whole device with this kernel name. What is missing stays
/// unknown; what exists but cannot be read is listed in [`DeviceFacts::unread`].
#[must_use]
pub fn survey(sysfs: &dyn Sysfs, name: &str) -> DeviceFacts {
    let unread = RefCell::default();
    let mut facts = {
        // sysfs writes a slash in a device name as an exclamation mark.
        let link = format!("/sys/class/block/{}", name.replace('/', "!"));
        let Some(path) = sysfs.canonicalize(&link) else {
            return missing_device(name);
        };
        let dir = SysfsDir::new(sysfs, path, &unread);
        device_facts(&dir, name)
    };
    facts.unread = unread.into_inner();
    facts.unread.sort();
    facts.unread.dedup();
    facts
}

fn missing_device(name: &str) -> DeviceFacts {
    let unread = vec!["the device no longer exists, or is not in sysfs".to_owned()];
    DeviceFacts {
        name: clean(name.as_bytes()),
        unread,
        ..DeviceFacts::default()
    }
}

fn device_facts(dir: &SysfsDir<'_>, name: &str) -> DeviceFacts {
    let identity = identity::identity(dir);
    let transport = transport::transport(dir, name, &identity);
    let queue = queue::queue(dir);
    let (medium, rpm) = medium::medium(dir, transport, &identity, queue.rotational);
    DeviceFacts {
        name: clean(name.as_bytes()),
        number: dir
            .text("dev")
            .and_then(|text| number(&text))
            .unwrap_or_default(),
        size: Bytes::new(dir.number("size").unwrap_or(0).saturating_mul(512)),
        read_only: dir.flag("ro").unwrap_or(false),
        removable: dir.flag("removable").unwrap_or(false),
        hypervisor: medium::hypervisor(dir, medium),
        identity,
        medium,
        rpm,
        transport,
        driver: transport::driver(dir),
        links: link::links(dir),
        queue,
        cache: cache::cache(dir, transport),
        array: stack::array(dir),
        backing: stack::backing(dir),
        built_on: dir
            .names("slaves")
            .iter()
            .map(|name| name.replace('!', "/"))
            .collect(),
        numa_node: transport::numa_node(dir),
        health: health::health(dir),
        unread: Vec::new(),
    }
}

/// `8:16`.
fn number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
