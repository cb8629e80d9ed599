//! Finds the ECharts script in the sources of a package that contains it, checks its SHA-256, and compiles
//! it to byte code for static images: parsing a megabyte of source took five times as long as drawing.
//!
//! The script is not part of this repository. Without it the crate still builds, and drawing a chart fails
//! at run time with [`ChartError::NoScript`].

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rquickjs::module::{WriteOptions, WriteOptionsEndianness};
use rquickjs::{CatchResultExt, Context, Module, Runtime};
use sha2::{Digest, Sha256};

/// The package that contains the script, and its version.
const PACKAGE: (&str, &str) = ("charming", "0.6.0");
/// Path of the script in the package.
const SCRIPT: &str = "src/asset/echarts-5.5.1.min.js";
/// SHA-256 of the script, as ECharts 5.5.1 published it.
const SHA256: &str = "e84270bd0cd5bdf60fefc26d00c2a391cb2e81f4d26a7a9ee16185a54773a3cf";
/// A target for which cargo counts the package among the dependencies.
const TARGET: &str = "x86_64-unknown-none";
/// The line of `render.js` that the other scripts replace.
const SCRIPTS: &str = "// ---\n";

pub fn main() {
    [
        "build.rs",
        "build/script.rs",
        "src/formatters.js",
        "src/render.js",
    ]
    .into_iter()
    .for_each(|file| println!("cargo:rerun-if-changed={file}"));
    println!("cargo:rerun-if-env-changed=FATHOM_ECHARTS");
    let out_dir = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let given = env::var_os("FATHOM_ECHARTS").and_then(|path| checked(Path::new(&path)));
    let script = given
        .or_else(|| of_package(true))
        .or_else(|| of_package(false))
        .unwrap_or_default();
    if script.is_empty() {
        // Try again when the lock file changes: `cargo metadata --locked` may have failed.
        println!("cargo:rerun-if-changed=../../Cargo.lock");
        let (package, version) = PACKAGE;
        println!(
            "cargo:warning={SCRIPT} of the package {package} {version} was not found (or is not the one expected): this build cannot draw charts"
        );
    }
    for (name, font) in [
        ("regular", notosans::REGULAR_TTF),
        ("bold", notosans::BOLD_TTF),
    ] {
        let file = out_dir.join(format!("{name}.ttf"));
        fs::write(file, outlines(font)).expect("OUT_DIR can be written");
    }
    let (packed, compiled) = if script.is_empty() {
        (Vec::new(), Vec::new())
    } else {
        (packed(script.as_bytes()), compiled(&script))
    };
    fs::write(out_dir.join("echarts.deflate"), packed).expect("OUT_DIR can be written");
    fs::write(out_dir.join("render.code"), compiled).expect("OUT_DIR can be written");
}

/// The script from the sources of the package, which cargo downloads unless `offline`.
fn of_package(offline: bool) -> Option<String> {
    let mut cargo = Command::new(env::var_os("CARGO")?);
    cargo.args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--filter-platform",
        TARGET,
    ]);
    cargo
        .args(["--manifest-path", "Cargo.toml"])
        .current_dir(env::var_os("CARGO_MANIFEST_DIR")?);
    if offline {
        cargo.arg("--offline");
    }
    // A parser for this one field would cost more time to build than all other steps of this script.
    let metadata = String::from_utf8(cargo.output().ok()?.stdout).ok()?;
    let named = format!(r#""name":"{}","version":"{}","#, PACKAGE.0, PACKAGE.1);
    let (_, package) = metadata.split_once(&named)?;
    let (_, manifest) = package.split_once(r#""manifest_path":""#)?;
    let (manifest, _) = manifest.split_once('"')?;
    checked(&Path::new(manifest).parent()?.join(SCRIPT))
}

/// The file, if it is the one expected.
fn checked(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let sum: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    String::from_utf8(bytes).ok().filter(|_| sum == SHA256)
}

/// The tables of a font that widths and outlines are read from: not those for other alphabets' joined letters, for pairs of letters
/// and for names. See the OpenType specification, "Table Directory": 12 bytes, then a tag, a checksum, a place and a length for each.
fn outlines(font: &[u8]) -> Vec<u8> {
    const TABLES: [&[u8]; 8] = [
        b"OS/2", b"cmap", b"glyf", b"head", b"hhea", b"hmtx", b"loca", b"maxp",
    ];
    const HEADER: usize = 12;
    const ENTRY: usize = 16;
    let number = |at: usize| {
        let bytes = font[at..at + 4].try_into().expect("four bytes");
        u32::from_be_bytes(bytes) as usize
    };
    let count = usize::from(u16::from_be_bytes([font[4], font[5]]));
    let kept: Vec<usize> = (0..count)
        .map(|table| HEADER + table * ENTRY)
        .filter(|entry| TABLES.contains(&&font[*entry..entry + 4]))
        .collect();
    let mut reduced = font[..4].to_vec();
    reduced.extend((kept.len() as u16).to_be_bytes());
    reduced.extend(&font[6..HEADER]);
    let mut data = Vec::new();
    for entry in &kept {
        let (place, length) = (number(entry + 8), number(entry + 12));
        reduced.extend(&font[*entry..entry + 8]);
        let new = HEADER + kept.len() * ENTRY + data.len();
        reduced.extend((new as u32).to_be_bytes());
        reduced.extend((length as u32).to_be_bytes());
        data.extend(&font[place..place + length]);
        data.resize(data.len().next_multiple_of(4), 0);
    }
    reduced.extend(data);
    reduced
}

/// A third of the size.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("memory is written without errors")
}

/// All scripts as one module of byte code, without debug information.
fn compiled(script: &str) -> Vec<u8> {
    let read = |file: &str| fs::read_to_string(file).expect("the file is part of the crate");
    let render = read("src/render.js");
    let (before, after) = render
        .split_once(SCRIPTS)
        .expect("render.js has a line for the scripts");
    let source = format!("{before}{script}\n{}\n{after}", read("src/formatters.js"));
    let runtime = Runtime::new().expect("memory for an engine");
    runtime.set_max_stack_size(4 << 20);
    let context = Context::full(&runtime).expect("memory for an engine");
    let endianness = match env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() {
        Ok("big") => WriteOptionsEndianness::Big,
        _ => WriteOptionsEndianness::Little,
    };
    let options = WriteOptions {
        endianness,
        strip_source: true,
        strip_debug: true,
        ..WriteOptions::default()
    };
    context
        .with(|ctx| {
            let module = Module::declare(ctx.clone(), "render", source).catch(&ctx);
            module
                .map_err(|error| error.to_string())
                .and_then(|module| module.write(options).map_err(|error| error.to_string()))
        })
        .expect("the script compiles")
}
