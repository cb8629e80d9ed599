//! A connection to a cluster and an open image.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ops::Range;
use std::ptr::{null, null_mut};

use fathom_load::EngineError;
use fathom_model::RbdImage;

use super::library::{Handle, Library, library};

/// Time limit for the first contact with the monitors, seconds. librados itself waits for 5 minutes.
const CONNECT_LIMIT: &str = "15";
/// Bytes of the text of an fsid or an image's id, with the final NUL.
const ID_BYTES: usize = 128;

/// An open image. Closed when it is dropped, which also writes back what librbd has cached.
pub(super) struct Image {
    library: &'static Library,
    cluster: Handle,
    pool: Handle,
    image: Handle,
}

// SAFETY: librados and librbd allow calls on their handles from every thread.
unsafe impl Send for Image {}

/// What an image is and contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// Size, bytes.
    pub size: u64,
    /// Bytes for which the cluster has stored objects; 0 is an empty image.
    pub used: u64,
    /// The cluster's fsid and the image's id in it, which no other image has.
    pub identity: (String, String),
    /// SHA-256 of samples of the contents ([`fathom_device::Samples`]).
    pub samples: [u8; 32],
}

/// Reads the size of an image, how much of it is in use, and samples of its contents. Changes nothing.
///
/// # Errors
/// If librbd is missing, the cluster does not answer, or the image does not exist.
pub fn examine_image(spec: &RbdImage) -> Result<ImageFacts, EngineError> {
    let image = Image::open(spec, false)?;
    let size = image.size()?;
    let samples = fathom_device::Samples::of(size).digest(|range| image.read(range));
    Ok(ImageFacts {
        size,
        used: image.used(size)?,
        identity: image.identity(),
        samples,
    })
}

impl Image {
    /// Connects to the cluster and opens the image.
    ///
    /// # Errors
    /// Which step failed, and what to do.
    pub(super) fn open(spec: &RbdImage, writes: bool) -> Result<Self, EngineError> {
        let library = library()?;
        let text = |value: &str| {
            CString::new(value).map_err(|_| EngineError {
                errno: libc::EINVAL,
                what: format!("'{}' contains a NUL byte", value.escape_debug()),
            })
        };
        let mut open = Image {
            library,
            cluster: null_mut(),
            pool: null_mut(),
            image: null_mut(),
        };
        let failed = |code: c_int, what: String| EngineError { errno: -code, what };
        let target = spec.target();
        let client = spec.client.as_deref().map(text).transpose()?;
        // SAFETY: every pointer is null where the interface allows it, or of a C string that outlives the call; the
        // handles were set by the calls before. librados copies what it keeps.
        let code = unsafe {
            match &spec.cluster {
                Some(cluster) => {
                    // A cluster's name goes with the full name of the user.
                    let user = spec.client.as_deref().unwrap_or("admin");
                    let full = if user.contains('.') {
                        text(user)?
                    } else {
                        text(&format!("client.{user}"))?
                    };
                    let cluster = text(cluster)?;
                    (library.rados_create2)(&mut open.cluster, cluster.as_ptr(), full.as_ptr(), 0)
                }
                None => (library.rados_create)(
                    &mut open.cluster,
                    client.as_ref().map_or(null(), |client| client.as_ptr()),
                ),
            }
        };
        if code < 0 {
            return Err(failed(
                code,
                format!("{target}: librados refuses clustername= or clientname="),
            ));
        }
        // SAFETY: the cluster was created; a null path means the usual places and $CEPH_CONF.
        let code = unsafe { (library.rados_conf_read_file)(open.cluster, null()) };
        if code < 0 {
            return Err(failed(
                code,
                format!(
                    "{target}: no configuration of a Ceph cluster; create /etc/ceph/ceph.conf, or set CEPH_CONF"
                ),
            ));
        }
        let limit = text(CONNECT_LIMIT)?;
        // SAFETY: as above. Its failure means that the limit stays at librados' own.
        unsafe {
            (library.rados_conf_set)(
                open.cluster,
                c"client_mount_timeout".as_ptr(),
                limit.as_ptr(),
            );
        }
        // SAFETY: the cluster was created and configured.
        let code = unsafe { (library.rados_connect)(open.cluster) };
        if code < 0 {
            // A cluster that is not connected is shut down, too.
            return Err(failed(
                code,
                format!(
                    "{target}: the Ceph cluster does not answer; check `ceph -s` with the same user, and clientname="
                ),
            ));
        }
        let pool = text(&spec.pool)?;
        // SAFETY: the cluster is connected.
        let code =
            unsafe { (library.rados_ioctx_create)(open.cluster, pool.as_ptr(), &mut open.pool) };
        if code < 0 {
            open.pool = null_mut();
            return Err(failed(
                code,
                format!(
                    "{target}: cannot open the pool; `ceph osd pool ls` lists those that exist"
                ),
            ));
        }
        let name = text(&spec.image)?;
        let call = if writes {
            library.rbd_open
        } else {
            library.rbd_open_read_only
        };
        // SAFETY: the pool is open; a null snapshot is the image itself.
        let code = unsafe { call(open.pool, name.as_ptr(), &mut open.image, null()) };
        if code < 0 {
            open.image = null_mut();
            return Err(failed(
                code,
                format!(
                    "{target}: cannot open the image; create it with `rbd create -s SIZE {}/{}`",
                    spec.pool, spec.image
                ),
            ));
        }
        Ok(open)
    }

    pub(super) fn library(&self) -> &'static Library {
        self.library
    }

    pub(super) fn handle(&self) -> Handle {
        self.image
    }

    /// Size, bytes.
    ///
    /// # Errors
    /// If the cluster does not answer.
    pub(super) fn size(&self) -> Result<u64, EngineError> {
        let mut size = 0;
        // SAFETY: the image is open.
        let code = unsafe { (self.library.rbd_get_size)(self.image, &mut size) };
        if code < 0 {
            return Err(EngineError {
                errno: -code,
                what: "cannot ask the size of the rbd image".to_owned(),
            });
        }
        Ok(size)
    }

    /// Bytes that the image has stored.
    fn used(&self, size: u64) -> Result<u64, EngineError> {
        unsafe extern "C" fn add(_: u64, length: usize, exists: c_int, sum: *mut c_void) -> c_int {
            if exists != 0 {
                // SAFETY: `sum` is the variable below, which only this call uses meanwhile.
                unsafe { *sum.cast::<u64>() += length as u64 };
            }
            0
        }
        let mut used = 0_u64;
        // SAFETY: the image is open; a null snapshot is the image's creation; `used` outlives the call.
        let code = unsafe {
            (self.library.rbd_diff_iterate2)(
                self.image,
                null(),
                0,
                size,
                1,
                1,
                add,
                (&raw mut used).cast(),
            )
        };
        if code < 0 {
            return Err(EngineError {
                errno: -code,
                what: "cannot ask which parts of the rbd image are in use".to_owned(),
            });
        }
        Ok(used)
    }

    /// The bytes of a range.
    ///
    /// # Errors
    /// The errno.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>, i32> {
        let mut bytes = vec![0_u8; (range.end - range.start) as usize];
        // SAFETY: the image is open, and the buffer has room for this many bytes.
        let read = unsafe {
            (self.library.rbd_read)(
                self.image,
                range.start,
                bytes.len(),
                bytes.as_mut_ptr().cast(),
            )
        };
        if read < 0 {
            return Err((-read) as i32);
        }
        bytes.truncate(read as usize);
        Ok(bytes)
    }

    /// The cluster's fsid and the image's id; empty where the cluster is too old to say.
    fn identity(&self) -> (String, String) {
        let text = |ask: &dyn Fn(*mut c_char, usize) -> c_int| {
            let mut bytes = [0_u8; ID_BYTES];
            if ask(bytes.as_mut_ptr().cast(), ID_BYTES) < 0 {
                return String::new();
            }
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(ID_BYTES);
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        // SAFETY: the cluster is connected and the image open; the buffers have the stated size.
        unsafe {
            (
                text(&|buffer, size| (self.library.rados_cluster_fsid)(self.cluster, buffer, size)),
                text(&|buffer, size| (self.library.rbd_get_id)(self.image, buffer, size)),
            )
        }
    }

    /// Empties the cache of librbd, and flushes once. Before the first flush, librbd writes through its cache, because the
    /// user of an image may not know flushes (`rbd_cache_writethrough_until_flush`); a file system flushes when it is
    /// mounted, and fio when it opens the image.
    pub(super) fn start_cache(&self) {
        // SAFETY: the image is open. Without a cache there is nothing to drop or to flush.
        unsafe {
            (self.library.rbd_invalidate_cache)(self.image);
            (self.library.rbd_flush)(self.image);
        }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: each handle is null or open, and not used again. Closing waits for the I/O in flight.
        unsafe {
            if !self.image.is_null() {
                (self.library.rbd_flush)(self.image);
                (self.library.rbd_close)(self.image);
            }
            if !self.pool.is_null() {
                (self.library.rados_ioctx_destroy)(self.pool);
            }
            if !self.cluster.is_null() {
                (self.library.rados_shutdown)(self.cluster);
            }
        }
    }
}
