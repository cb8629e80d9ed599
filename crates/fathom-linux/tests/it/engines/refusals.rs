//! Behaviour when the kernel refuses an engine: a fallback is used, or the error explains why.
#![allow(unsafe_code)]

use fathom_load::{EngineError, Op};
use fathom_model::{EngineKind, EngineSettings, EngineSpec};

use crate::engines::support::{perform, request, with_engine};
use crate::engines::target::{SIZE, Target};

/// Runs `body` in a thread in which these system calls fail with `errno`, as under a container's
/// seccomp profile.
fn with_denied_calls<T: Send>(
    calls: &[libc::c_long],
    errno: i32,
    body: impl FnOnce() -> T + Send,
) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            deny(calls, errno);
            body()
        });
        thread.join().expect("the body's own assertions")
    })
}

fn deny(calls: &[libc::c_long], errno: i32) {
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    // linux/seccomp.h: the system call number is the first word of the data.
    let mut program = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for &call in calls {
        program.push(step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            call as u32,
        ));
        program.push(step(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | errno as u32,
        ));
    }
    program.push(step(
        libc::BPF_RET | libc::BPF_K,
        0,
        0,
        libc::SECCOMP_RET_ALLOW,
    ));
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program outlives the call, which copies it; it applies only to this thread.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const filter,
            ) == 0
    };
    assert!(done, "{}", std::io::Error::last_os_error());
}

/// Reads a page with the engine and returns its name and the reason for a fallback.
fn try_engine(
    kind: EngineKind,
    named: bool,
) -> Result<(&'static str, Option<String>), EngineError> {
    let target = Target::disk(false).unwrap();
    let settings = EngineSettings {
        fixed_buffers: true,
        register_files: true,
        ..EngineSettings::default()
    };
    with_engine(
        &EngineSpec {
            kind,
            named,
            settings,
        },
        4,
        vec![target.open((0, SIZE), true)],
        |engine, name, fallback| {
            assert_eq!(perform(engine, request(3, Op::Read, 0, 4096)), 4096);
            (name, fallback)
        },
    )
}

#[test]
fn without_io_uring_libaio_is_the_fallback_with_a_reason() {
    let (name, why) = with_denied_calls(&[libc::SYS_io_uring_setup], libc::EPERM, || {
        try_engine(EngineKind::IoUring, false)
    })
    .unwrap();
    assert_eq!(name, "libaio");
    let why = why.unwrap();
    assert!(why.contains("io_uring") && why.contains("seccomp"), "{why}");
}

#[test]
fn without_either_a_thread_pool_is_the_fallback() {
    let denied = [libc::SYS_io_uring_setup, libc::SYS_io_setup];
    let (name, why) = with_denied_calls(&denied, libc::ENOSYS, || {
        try_engine(EngineKind::IoUring, false)
    })
    .unwrap();
    assert_eq!(name, "posixaio");
    let why = why.unwrap();
    assert!(why.contains("io_uring") && why.contains("libaio"), "{why}");
}

#[test]
fn an_engine_requested_by_name_is_not_replaced() {
    let refused = with_denied_calls(&[libc::SYS_io_uring_setup], libc::EPERM, || {
        try_engine(EngineKind::IoUring, true)
    })
    .unwrap_err();
    assert_eq!(refused.errno, libc::EPERM);
    assert!(refused.what.contains("seccomp"), "{refused}");
    let refused = with_denied_calls(&[libc::SYS_io_setup], libc::EAGAIN, || {
        try_engine(EngineKind::Libaio, true)
    })
    .unwrap_err();
    assert!(refused.what.contains("fs.aio-max-nr"), "{refused}");
}

/// A kernel that creates rings but registers nothing (RLIMIT_MEMLOCK): still io_uring, only more
/// expensive.
#[test]
fn without_registration_io_uring_remains() {
    let (name, why) = with_denied_calls(&[libc::SYS_io_uring_register], libc::ENOMEM, || {
        try_engine(EngineKind::IoUring, false)
    })
    .unwrap();
    assert_eq!(name, "io_uring");
    assert!(why.unwrap().contains("without registered buffers"));
    let refused = with_denied_calls(&[libc::SYS_io_uring_register], libc::ENOMEM, || {
        try_engine(EngineKind::IoUring, true)
    })
    .unwrap_err();
    assert!(refused.what.contains("RLIMIT_MEMLOCK"), "{refused}");
}

#[test]
fn available_engines_have_no_fallback() {
    for kind in [EngineKind::Libaio, EngineKind::PosixAio] {
        assert_eq!(
            try_engine(kind, false).map(|(name, why)| (name, why.is_none())),
            Ok((kind.name(), true))
        );
    }
}
