//! Every format by its published description, and everything that can be wrong with a trace.

use std::io::Write;

use fathom_workload::{
    IoFlags, IoKind, ReadOptions, TraceError, TraceFacts, TraceFormat, TraceIo, TraceReader,
    TraceSource,
};

fn read_with(bytes: &[u8], options: ReadOptions) -> Result<(Vec<TraceIo>, TraceFacts), TraceError> {
    let mut reader = TraceReader::open(bytes, options)?;
    let mut ios = Vec::new();
    while let Some(io) = reader.next_io()? {
        ios.push(io);
    }
    Ok((ios, reader.facts()))
}

fn read(bytes: &[u8]) -> (Vec<TraceIo>, TraceFacts) {
    read_with(bytes, ReadOptions::default()).expect("a trace")
}

/// Time, latency, kind, offset, length.
fn short(io: &TraceIo) -> (u64, Option<u64>, IoKind, u64, u32) {
    (io.time_ns, io.latency_ns, io.kind, io.offset, io.length)
}

#[track_caller]
fn is(
    bytes: &[u8],
    format: TraceFormat,
    expected: &[(u64, Option<u64>, IoKind, u64, u32)],
) -> Vec<TraceIo> {
    let (ios, facts) = read(bytes);
    assert_eq!(facts.format, format);
    assert_eq!(ios.iter().map(short).collect::<Vec<_>>(), expected);
    assert_eq!(facts.malformed, 0, "{:?}", facts.first_malformed);
    ios
}

use IoKind::{Discard, Flush, Read as R, Write as W};

const BLKPARSE: &str = "  8,0    3        1     0.000000000   697  Q   R 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   R 223490 + 8 [kjournald]
  8,0    3        3     0.000005000   697  D   R 223490 + 8 [kjournald]
  8,0    3        4     0.000009000   700  D  WS 1000 + 24 [postgres]
  8,0    3        5     0.000105000     0  C   R 223490 + 8 [0]
  8,0    3        6     0.000209000     0  C  WS 1000 + 24 [0]
  8,0    3        7     0.000300000   700  D  FN [postgres]
  8,0    3        8     0.000400000     0  C  FN 0 [0]
  8,0    3        9     0.000500000   700  D   D 2048 + 2048 [fstrim]
CPU3 (8,0):
 Reads Queued:           1,        4KiB  Writes Queued:           1,       12KiB
";

#[test]
fn blkparse_text() {
    let ios = is(
        BLKPARSE.as_bytes(),
        TraceFormat::Blkparse,
        &[
            (5_000, Some(100_000), R, 223_490 * 512, 4096),
            (9_000, Some(200_000), W, 512_000, 12_288),
            (300_000, Some(100_000), Flush, 0, 0),
            (500_000, None, Discard, 1 << 20, 1 << 20),
        ],
    );
    assert_eq!((ios[0].process, ios[1].process), (697, 700));
    assert!(ios[1].flags.has(IoFlags::SYNC));
    // With queue events alone (as in the YCSB traces), those are the I/Os.
    let queued = "259,2 0 1 0.000000000 4020 Q R 282624 + 8 [java]\n259,2 0 2 0.000001000 4020 Q W 16 + 8 [java]\n";
    is(
        queued.as_bytes(),
        TraceFormat::Blkparse,
        &[
            (0, None, R, 282_624 * 512, 4096),
            (1000, None, W, 8192, 4096),
        ],
    );
}

/// `struct blk_io_trace` in either byte order.
fn record(big: bool, time: u64, sector: u64, bytes: u32, action: u32, pid: u32) -> Vec<u8> {
    let device = 8_u32 << 20 | 16;
    let mut out = Vec::new();
    let mut put = |value: u64, size: usize| {
        let bytes = value.to_le_bytes();
        if big {
            out.extend(bytes[..size].iter().rev());
        } else {
            out.extend(&bytes[..size]);
        }
    };
    put(0x6561_7407, 4);
    put(1, 4);
    put(time, 8);
    put(sector, 8);
    put(bytes.into(), 4);
    put(action.into(), 4);
    put(pid.into(), 4);
    put(device.into(), 4);
    put(0, 4);
    put(0, 2);
    put(3, 2);
    out.extend(b"pdu");
    assert_eq!(out.len(), 51);
    out
}

const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;

fn blktrace(big: bool) -> Vec<u8> {
    [
        record(big, 0, 0, 0, NOTIFY, 0),
        record(big, 1_000, 64, 8192, READ | 7, 42),
        record(big, 2_000, 128, 4096, WRITE | 7, 43),
        record(big, 51_000, 64, 8192, READ | 8, 0),
        record(big, 82_000, 128, 4096, WRITE | 8, 0),
        record(big, 90_000, 0, 0, FLUSH | WRITE | 7, 43),
        record(big, 99_000, 0, 0, FLUSH | WRITE | 8, 0),
        record(big, 99_500, 8, 1 << 20, DISCARD | WRITE | 7, 43),
    ]
    .concat()
}

#[test]
fn blktrace_records_in_both_byte_orders() {
    for big in [false, true] {
        let ios = is(
            &blktrace(big),
            TraceFormat::Blktrace,
            &[
                (1_000, Some(50_000), R, 32_768, 8192),
                (2_000, Some(80_000), W, 65_536, 4096),
                (90_000, Some(9_000), Flush, 0, 0),
                (99_500, None, Discard, 4096, 1 << 20),
            ],
        );
        assert_eq!(ios[0].process, 42);
        assert_eq!(read(&blktrace(big)).1.devices, ["8,16"]);
    }
}

#[test]
fn tracefs_text() {
    let text = "# tracer: nop
#
             fio-21042   [000] .....  2721.616912: block_rq_issue: 254,0 RA 8192 () 24827400 + 16 be,0,4 [fio]
          <idle>-0       [001] d.h..  2721.617012: block_rq_complete: 254,0 RA () 24827400 + 16 be,0,4 [0]
   my worker-1-77        (     70) [000] .....  2721.618000: block_rq_issue: 254,0 FF 0 () 0 + 0 be,0,4 [my worker-1]
          <idle>-0       [001] d.h..  2721.618500: block_rq_complete: 254,0 FF () 0 + 0 be,0,4 [0]
";
    let ios = is(
        text.as_bytes(),
        TraceFormat::Tracefs,
        &[
            (2_721_616_912_000, Some(100_000), R, 24_827_400 * 512, 8192),
            (2_721_618_000_000, Some(500_000), Flush, 0, 0),
        ],
    );
    assert_eq!((ios[0].process, ios[1].process), (21_042, 77));
    assert!(ios[0].flags.has(IoFlags::READ_AHEAD));
}

#[test]
fn logs_of_fio() {
    let three = "fio version 3 iolog\n100 a add\n100 a open\n1100 a write 8192 4096\n2100 a datasync 0 0\n3100 a read 0 512\n4100 a trim 0 1024\n5000 a close\n";
    let ios = is(
        three.as_bytes(),
        TraceFormat::Iolog,
        &[
            (1_100_000, None, W, 8192, 4096),
            (2_100_000, None, Flush, 0, 0),
            (3_100_000, None, R, 0, 512),
            (4_100_000, None, Discard, 0, 1024),
        ],
    );
    assert!(ios[1].flags.has(IoFlags::DATA_ONLY));
    let two = "fio version 2 iolog\na add\na open\na read 0 4096\na wait 500 0\na read 4096 4096\na wait 700 0\na sync 0 0\n";
    is(
        two.as_bytes(),
        TraceFormat::Iolog,
        &[
            (0, None, R, 0, 4096),
            (500_000, None, R, 4096, 4096),
            (1_200_000, None, Flush, 0, 0),
        ],
    );
}

#[test]
fn comma_separated_formats() {
    // 100 ns, bytes, 100 ns.
    is(
        b"128166372003061629,hm,1,Read,383496192,32768,58000\n128166372016382155,hm,1,Write,2822144,4096,1000\n",
        TraceFormat::Msr,
        &[
            (12_816_637_200_306_162_900, Some(5_800_000), R, 383_496_192, 32_768),
            (12_816_637_201_638_215_500, Some(100_000), W, 2_822_144, 4096),
        ],
    );
    is(
        b"419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n",
        TraceFormat::Alibaba,
        &[
            (1_577_808_144_360_767_000, None, W, 8_792_731_648, 16_384),
            (1_577_808_144_360_813_000, None, R, 59_110_326_272, 360_448),
        ],
    );
    // Whole seconds: two I/Os of a second are spread in it.
    let ios = is(
        b"1538323200,12910952,128,0,1063\n1538323200,6265984,8,1,1071\n1538323201,8,8,0,1063\n",
        TraceFormat::Tencent,
        &[
            (1_538_323_200_000_000_000, None, R, 12_910_952 * 512, 65_536),
            (1_538_323_200_500_000_000, None, W, 6_265_984 * 512, 4096),
            (1_538_323_201_000_000_000, None, R, 4096, 4096),
        ],
    );
    assert_ne!(ios[0].device, ios[1].device);
    is(
        b"0,20941264,8192,W,0.551706\n1,20939840,4096,r,0.554041\n",
        TraceFormat::Spc,
        &[
            (551_706_000, None, W, 20_941_264 * 512, 8192),
            (554_041_000, None, R, 20_939_840 * 512, 4096),
        ],
    );
}

#[test]
fn simulators() {
    // MQSim: nanoseconds, 1 reads.
    is(
        b"4931000 0 388160 8 1\n5931000 0 1000 16 0\n",
        TraceFormat::DiskSim,
        &[
            (4_931_000, None, R, 388_160 * 512, 4096),
            (5_931_000, None, W, 512_000, 8192),
        ],
    );
    // DiskSim: milliseconds.
    is(
        b"0.125000 0 8 8 1\n1.500000 0 16 8 0\n",
        TraceFormat::DiskSim,
        &[
            (125_000, None, R, 4096, 4096),
            (1_500_000, None, W, 8192, 4096),
        ],
    );
}

#[test]
fn hfplayer_biosnoop_and_windows() {
    let csv = "DUMP_OFFSET:u64,ELAPSED_USECS:u64,ELAPSED_TICKS:u64,CMD:u8,INFLIGHT_IOS:u32,TS:u64,SEQID:u32,LUN_SSID:u32,OP:u8,PHASE:u8,LBA:u64,NBLKS:u32,LATENCY_TICKS:u64,HOST_ID:u32,HOST_LUN:u32,LATENCY_USECS:u64
0,100,1000,0x28,1,5,1,7,R,0,2048,16,900,1,1,90
1,250,2500,0x2a,2,6,2,7,W,0,4096,8,500,1,1,50
";
    is(
        csv.as_bytes(),
        TraceFormat::Hfplayer,
        &[
            (100_000, Some(90_000), R, 1 << 20, 8192),
            (250_000, Some(50_000), W, 2 << 20, 4096),
        ],
    );
    // The time is that of the completion.
    let snoop = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)
1.000500    my db          3210    vda       W 1000       4096      0.50
1.002000    postgres       3211    vda       R 2000       8192      1.75
";
    let ios = is(
        snoop.as_bytes(),
        TraceFormat::Biosnoop,
        &[
            (1_000_000_000, Some(500_000), W, 512_000, 4096),
            (1_000_250_000, Some(1_750_000), R, 1_024_000, 8192),
        ],
    );
    assert_eq!(ios[0].process, 3210);
    let xperf = "BeginHeader
          DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,     IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,   FileObject, FileName
         DiskWrite,  TimeStamp,     Process Name ( PID),   ThreadID,     IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,   FileObject, FileName
         DiskFlush,  TimeStamp,     Process Name ( PID),   ThreadID,     IrpPtr,  ElapsedTime,  DiskNum, IrpFlags,  DiskSvcTime, I/O Pri
EndHeader
          DiskRead,      10500,  sqlservr.exe (1234),       4321, 0xffff, 0x0000100000, 0x00002000,         500,        0, 0x60900,         480,  Normal, Original, 0xfff, \"D:\\data.mdf\"
         DiskWrite,      11000,  sqlservr.exe (1234),       4321, 0xffff, 0x0000200000, 0x00001000,         100,        0, 0x60900,          90,  Normal, Original, 0xfff, \"L:\\log.ldf\"
         DiskFlush,      12000,  sqlservr.exe (1234),       4321, 0xffff,         250,        0, 0x0,         200,  Normal
";
    let ios = is(
        xperf.as_bytes(),
        TraceFormat::Etw,
        &[
            (10_000_000, Some(500_000), R, 1 << 20, 8192),
            (10_900_000, Some(100_000), W, 2 << 20, 4096),
            (11_750_000, Some(250_000), Flush, 0, 0),
        ],
    );
    assert_eq!(ios[0].process, 1234);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn gzip_is_read_and_other_compression_refused_with_the_command() {
    let (plain, _) = read(BLKPARSE.as_bytes());
    // Also several members one after the other, as from `cat a.gz b.gz`.
    let (first, second) = BLKPARSE.split_at(200);
    let parts = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    assert_eq!(read(&parts).0, plain);
    for (magic, command) in [(&b"\xfd7zXZ\x00"[..], "xz -dc"), (b"BZh91AY", "bzip2 -dc")] {
        let error = read_with(magic, ReadOptions::default()).expect_err("compressed");
        assert!(error.to_string().contains(command), "{error}");
    }
    // A compressed file without its end: what is there counts, and the cut is reported.
    let lines: String = (0..20_000_u64)
        .map(|n| format!("0,{},8192,W,{}.5\n", n * 7919 % 100_003, n))
        .collect();
    let mut cut = gzip(lines.as_bytes());
    cut.truncate(cut.len() / 2);
    let (ios, facts) = read(&cut);
    assert!(facts.cut && ios.len() > 5000, "{}", ios.len());
}

/// Written by `zstd -19 --check`: the text above, and [`reads_text`].
const BLKPARSE_ZSTD: &[u8] = include_bytes!("../fixtures/blkparse.zst");
const READS_ZSTD: &[u8] = include_bytes!("../fixtures/reads.zst");

fn reads_text() -> String {
    let line = |n: u32| format!("0,{},4096,r,{}.5\n", n * 37 % 97 * 8, n / 100);
    (0..10_000).map(line).collect()
}

#[test]
fn zstd_is_read() {
    let (plain, _) = read(BLKPARSE.as_bytes());
    // Frames one after the other, as from `cat a.zst b.zst`, with one to skip before each.
    let skip = b"\x5e\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
    let frames = [&skip, BLKPARSE_ZSTD, &skip, BLKPARSE_ZSTD].concat();
    for bytes in [BLKPARSE_ZSTD, &frames] {
        let (ios, facts) = read(bytes);
        assert_eq!(ios, plain);
        assert_eq!((facts.malformed, facts.cut), (0, false));
    }
    // Several blocks.
    let (ios, _) = read(READS_ZSTD);
    assert_eq!(ios, read(reads_text().as_bytes()).0);
    assert_eq!(ios.len(), 10_000);
}

#[test]
fn zstd_that_is_cut_or_damaged_is_not_taken_for_whole() {
    let (all, _) = read(READS_ZSTD);
    for length in [4, READS_ZSTD.len() / 2, READS_ZSTD.len() - 4] {
        match read_with(&READS_ZSTD[..length], ReadOptions::default()) {
            Ok((ios, facts)) => {
                assert!(facts.cut, "{length}");
                assert_eq!(ios, all[..ios.len()], "{length}");
            }
            Err(error) => assert!(error.to_string().contains("ends too early"), "{error}"),
        }
    }
    // Also where the lines of the trace end before the data, at a summary.
    let mut wrong = BLKPARSE_ZSTD.to_vec();
    *wrong.last_mut().expect("a byte") ^= 1;
    let error = read_with(&wrong, ReadOptions::default()).expect_err("a checksum");
    assert!(error.to_string().contains("wrong checksum"), "{error}");
    // A window of 1 TiB.
    let large = [&BLKPARSE_ZSTD[..4], &[0x04, 0xf0], &[0; 20]].concat();
    let error = read_with(&large, ReadOptions::default()).expect_err("a window");
    assert!(error.to_string().contains("larger than 128 MiB"), "{error}");
    // Any byte changed, to anything: never the whole trace with other content, since there is a checksum.
    let (plain, _) = read(BLKPARSE.as_bytes());
    for at in 4..BLKPARSE_ZSTD.len() {
        for value in 0..=255 {
            let mut wrong = BLKPARSE_ZSTD.to_vec();
            wrong[at] = value;
            if let Ok((ios, facts)) = read_with(&wrong, ReadOptions::default()) {
                assert!(facts.cut || ios == plain, "{at} {value}: {ios:?}");
            }
        }
    }
}

#[test]
fn malformed_lines_are_counted_and_a_limit_refuses() {
    let text = |bad: usize| {
        let mut text = String::new();
        for n in 0..50 {
            text += &format!("0,{n},8192,W,{n}.5\n");
        }
        text + &"nonsense\n".repeat(bad)
    };
    let (ios, facts) = read(text(3).as_bytes());
    assert_eq!((ios.len(), facts.malformed), (50, 3));
    assert_eq!(facts.first_malformed[0], (51, "wrong number of fields"));
    assert!(
        facts
            .notes(50, 0, true)
            .iter()
            .any(|note| note.contains("51: wrong number"))
    );
    let strict = ReadOptions {
        malformed: Some(2),
        ..ReadOptions::default()
    };
    let error = read_with(text(3).as_bytes(), strict).expect_err("too many");
    assert_eq!(
        error.to_string(),
        "3 malformed lines of 53 (limit 2); the first: line 51: wrong number of fields; is it really a trace of format spc?"
    );
    // By default a hundred are skipped.
    assert!(
        read_with(
            text(101).as_bytes(),
            ReadOptions {
                format: Some(TraceFormat::Spc),
                ..ReadOptions::default()
            }
        )
        .is_err()
    );
}

#[test]
fn what_is_wrong_with_a_line_is_named() {
    let cases = [
        (
            "0,36028797018963968,8192,W,1.0",
            "the offset is 2^63 bytes or more",
        ),
        ("0,18446744073709551616,8192,W,1.0", "invalid offset"),
        ("0,8,4294967296,W,1.0", "the length is 4 GiB or more"),
        ("0,8,0,W,1.0", "the length is 0"),
        ("0,8,8192,X,1.0", "neither a read nor a write"),
        ("0,8,8192,W,-1.0", "invalid time"),
        ("0,8,8192,W,99999999999999999999", "invalid time"),
        ("0,8,8192,W", "wrong number of fields"),
    ];
    for (line, problem) in cases {
        let text = format!("0,8,8192,W,1.0\n0,8,8192,W,1.5\n{line}\n0,8,8192,W,2.0\n");
        let (ios, facts) = read(text.as_bytes());
        assert_eq!(
            (ios.len(), &facts.first_malformed[..]),
            (3, &[(3, problem)][..]),
            "{line}"
        );
    }
    let long = format!(
        "0,8,8192,W,1.0\n0,8,8192,W,1.0\n{}\n0,8,8192,W,2.0\n",
        "9".repeat(100_000)
    );
    assert_eq!(
        read(long.as_bytes()).1.first_malformed,
        [(3, "the line is longer than 8191 bytes")]
    );
}

#[test]
fn damaged_records_are_skipped_to_the_next() {
    let mut damaged = blktrace(false);
    let at = 3 * 51;
    damaged.splice(at..at + 10, [0xaa; 7]);
    let (ios, facts) = read(&damaged);
    assert_eq!((ios.len(), facts.malformed), (4, 1));
    assert_eq!(facts.first_malformed[0].1, "no record begins here");
    // The last record is cut.
    let mut cut = blktrace(false);
    cut.truncate(cut.len() - 20);
    let (ios, facts) = read(&cut);
    assert_eq!(
        (ios.len(), facts.first_malformed[0].1),
        (3, "the last record is cut")
    );
}

#[test]
fn time_that_goes_backwards_is_counted() {
    let mut text = String::new();
    for n in 0..10_000 {
        text += &format!("0,{n},8192,W,{}.5\n", n + 100);
    }
    text += "0,8,8192,W,1.0\n";
    for n in 10_000..20_000 {
        text += &format!("0,{n},8192,W,{}.5\n", n + 100);
    }
    let (ios, facts) = read(text.as_bytes());
    assert_eq!((ios.len(), facts.out_of_order), (20_001, 1));
    assert!(
        ios.windows(2)
            .all(|pair| pair[0].time_ns <= pair[1].time_ns)
    );
    assert!(
        facts
            .notes(20_001, 0, true)
            .iter()
            .any(|note| note.contains("backwards at 1 I/Os"))
    );
}

/// Random reads with completions, one every 100 us, as lines of blkparse in the order of time.
fn events(count: u64) -> Vec<String> {
    let mut events: Vec<(u64, String)> = Vec::new();
    for n in 0..count {
        let sector = n * 7919 % 100_003 * 8;
        for (action, time) in [("D", n * 100_000), ("C", n * 100_000 + 250_000)] {
            let line = format!(
                "8,0 0 {n} {}.{:09} 42 {action} R {sector} + 8 [x]\n",
                time / 1_000_000_000,
                time % 1_000_000_000
            );
            events.push((time, line));
        }
    }
    events.sort_by_key(|(time, _)| *time);
    events.into_iter().map(|(_, line)| line).collect()
}

/// Lines of several CPUs that were put together without sorting: within a few thousand I/Os the order does not matter, as long as an
/// issue is before its completion.
#[test]
fn reordered_lines_give_the_same_trace() {
    let events = events(3000);
    let (plain, _) = read(events.concat().as_bytes());
    assert_eq!(plain.len(), 3000);
    let (issues, completions): (Vec<&str>, Vec<&str>) = events
        .iter()
        .map(String::as_str)
        .partition(|line| line.contains(" D "));
    let reversed: String = issues.iter().rev().copied().collect();
    let (ios, facts) = read((reversed + &completions.concat()).as_bytes());
    assert_eq!((ios, facts.out_of_order), (plain, 0));
}

/// Every line twice, as of a trace that was appended to itself: both copies of an I/O count, and what cannot be paired is counted.
#[test]
fn duplicated_lines_are_reported() {
    let twice: String = events(3000)
        .iter()
        .flat_map(|line| [line.as_str(); 2])
        .collect();
    let (ios, facts) = read(twice.as_bytes());
    assert_eq!((ios.len(), facts.without_completion), (6000, 3000));
    let notes = facts.notes(6000, 3000, true);
    assert!(
        notes
            .iter()
            .any(|note| note == "3000 of 6000 I/Os have no completion in the trace."),
        "{notes:?}"
    );
    // The whole file twice: the second copy is in the past, but for the last I/Os of the first, which are sorted with it.
    let all = events(20_000).concat();
    let (ios, facts) = read((all.clone() + &all).as_bytes());
    assert_eq!(ios.len(), 40_000);
    assert!((15_000..20_000).contains(&facts.out_of_order), "{facts:?}");
}

#[test]
fn what_is_no_trace_is_refused() {
    let refused = |bytes: &[u8]| read_with(bytes, ReadOptions::default()).expect_err("no trace");
    assert!(matches!(refused(b""), TraceError::Empty));
    assert!(matches!(
        refused(b"hello\nworld\n"),
        TraceError::UnknownFormat
    ));
    let garbage: Vec<u8> = (0..100_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    assert!(matches!(refused(&garbage), TraceError::UnknownFormat));
    assert!(refused(b"x").to_string().contains("--trace-format"));
    // A wrong format on the command line is refused by the limit.
    let options = ReadOptions {
        format: Some(TraceFormat::Msr),
        malformed: Some(0),
    };
    assert!(matches!(
        read_with(BLKPARSE.as_bytes(), options),
        Err(TraceError::Malformed { .. })
    ));
    for format in TraceFormat::ALL {
        assert_eq!(TraceFormat::named(format.name()), Some(format));
    }
}
