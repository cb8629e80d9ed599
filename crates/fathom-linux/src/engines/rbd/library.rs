//! The functions of librados and librbd.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use fathom_load::EngineError;

/// `rados_t`, `rados_ioctx_t`, `rbd_image_t`, `rbd_completion_t`: addresses that only the libraries read.
pub(super) type Handle = *mut c_void;
/// `rbd_callback_t`: the completion and its argument.
pub(super) type Callback = unsafe extern "C" fn(Handle, *mut c_void);
/// The callback of `rbd_diff_iterate2`: offset, length, whether the extent exists, and its argument.
pub(super) type ExtentCallback = unsafe extern "C" fn(u64, usize, c_int, *mut c_void) -> c_int;

/// Declares the table of functions and how it is filled.
macro_rules! functions {
    ($($library:ident { $($name:ident($($argument:ty),*) $(-> $result:ty)?;)* })*) => {
        /// The functions in use, by their names in the libraries.
        pub(super) struct Library {
            $($(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*)*
        }

        impl Library {
            fn load() -> Result<Library, String> {
                $(let $library = open(soname(stringify!($library)))?;)*
                Ok(Library {
                    // SAFETY: each type is the prototype of this function in the header of the library's version 2
                    // (librados) or 1 (librbd), which the file name states.
                    $($($name: unsafe {
                        std::mem::transmute::<Handle, unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                            symbol($library, concat!(stringify!($name), "\0"))?,
                        )
                    },)*)*
                })
            }
        }
    };
}

functions! {
    librados {
        rados_create(*mut Handle, *const c_char) -> c_int;
        rados_create2(*mut Handle, *const c_char, *const c_char, u64) -> c_int;
        rados_conf_read_file(Handle, *const c_char) -> c_int;
        rados_conf_set(Handle, *const c_char, *const c_char) -> c_int;
        rados_connect(Handle) -> c_int;
        rados_cluster_fsid(Handle, *mut c_char, usize) -> c_int;
        rados_shutdown(Handle);
        rados_ioctx_create(Handle, *const c_char, *mut Handle) -> c_int;
        rados_ioctx_destroy(Handle);
    }
    librbd {
        rbd_open(Handle, *const c_char, *mut Handle, *const c_char) -> c_int;
        rbd_open_read_only(Handle, *const c_char, *mut Handle, *const c_char) -> c_int;
        rbd_close(Handle) -> c_int;
        rbd_get_size(Handle, *mut u64) -> c_int;
        rbd_get_id(Handle, *mut c_char, usize) -> c_int;
        rbd_read(Handle, u64, usize, *mut c_char) -> isize;
        rbd_flush(Handle) -> c_int;
        rbd_invalidate_cache(Handle) -> c_int;
        rbd_diff_iterate2(Handle, *const c_char, u64, u64, u8, u8, ExtentCallback, *mut c_void) -> c_int;
        rbd_aio_create_completion(*mut c_void, Callback, *mut Handle) -> c_int;
        rbd_aio_get_return_value(Handle) -> isize;
        rbd_aio_release(Handle);
        rbd_aio_read(Handle, u64, usize, *mut c_char, Handle) -> c_int;
        rbd_aio_write(Handle, u64, usize, *const c_char, Handle) -> c_int;
        rbd_aio_discard(Handle, u64, u64, Handle) -> c_int;
        rbd_aio_flush(Handle, Handle) -> c_int;
    }
}

/// The libraries, loaded once in a process.
///
/// # Errors
/// If they are not installed, or lack a function.
pub(super) fn library() -> Result<&'static Library, EngineError> {
    static LOADED: OnceLock<Result<Library, String>> = OnceLock::new();
    LOADED
        .get_or_init(Library::load)
        .as_ref()
        .map_err(|why| EngineError {
            errno: libc::ENOENT,
            what: why.clone(),
        })
}

fn soname(library: &str) -> &'static CStr {
    match library {
        "librados" => c"librados.so.2",
        _ => c"librbd.so.1",
    }
}

#[cfg(target_feature = "crt-static")]
fn open(_name: &CStr) -> Result<Handle, String> {
    Err(
        "ioengine=rbd: this is the static program, which cannot load librbd; use the one that `cargo build --release` makes, \
         or map the image with rbd(8) and measure its block device"
            .to_owned(),
    )
}

#[cfg(not(target_feature = "crt-static"))]
fn open(name: &CStr) -> Result<Handle, String> {
    // SAFETY: the name ends with NUL. The libraries' initializers have no requirements on their callers.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: the text is valid until the next call of this thread into the loader.
        let why = unsafe { libc::dlerror() };
        let why = if why.is_null() {
            std::borrow::Cow::Borrowed("no reason given")
        } else {
            // SAFETY: as above; it ends with NUL.
            unsafe { CStr::from_ptr(why) }.to_string_lossy()
        };
        return Err(format!(
            "ioengine=rbd needs {}, which cannot be loaded: {why}; install librbd (package librbd1), or map the image with \
             rbd(8) and measure its block device",
            name.to_string_lossy()
        ));
    }
    Ok(handle)
}

fn symbol(library: Handle, name: &str) -> Result<Handle, String> {
    let name = CStr::from_bytes_with_nul(name.as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the handle is that of a loaded library, which is never unloaded; the name ends with NUL.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() {
        return Err(format!(
            "ioengine=rbd: the installed librbd has no {}; install that of Ceph 12 or later",
            name.to_string_lossy()
        ));
    }
    Ok(address)
}
