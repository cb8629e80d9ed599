//! The blame sheet in JSON. Times are sums over the I/Os of a row, in nanoseconds, so that they add up exactly.

use fathom_model::{
    BlameGroup, BlameOther, BlamePhase, BlameRow, BlameSheet, BlameTimes, BlamedIo, OtherKind,
};

use crate::tree::{Object, Tree};

pub(super) fn blame(sheet: &BlameSheet) -> Object {
    let recording = &sheet.recording;
    Object::new()
        .with(
            "groups",
            recording.groups.iter().map(group).collect::<Tree>(),
        )
        .with(
            "others",
            recording.others.iter().map(other).collect::<Tree>(),
        )
        .with("lost_events", recording.lost_events)
        .with("messages", recording.messages.iter().collect::<Tree>())
        .with("sentences", sheet.sentences.iter().collect::<Tree>())
}

fn group(group: &BlameGroup) -> Object {
    let mut object = Object::new().with("name", &group.name);
    if let Some(direction) = group.direction {
        object = object.with("direction", direction.name());
    }
    let unjoined = group
        .unjoined
        .reasons()
        .into_iter()
        .map(|(name, _, ios)| (name.to_owned(), Tree::Int(ios)));
    object
        .with("joined", group.joined)
        .with("response_ns", group.response_ns)
        .with("unjoined", Object::of(unjoined))
        .with("rows", group.rows.iter().map(row).collect::<Tree>())
        .with(
            "slowest_ios",
            group.slowest.iter().map(io).collect::<Tree>(),
        )
}

fn phases(times: &BlameTimes) -> Object {
    Object::of(
        BlamePhase::ALL
            .iter()
            .map(|phase| (phase.name().to_owned(), Tree::Int(times.of(*phase)))),
    )
}

fn row(row: &BlameRow) -> Object {
    Object::new()
        .with("rank", row.rank.name())
        .with("ios", row.ios)
        .with("response_ns", row.phases.total())
        .with("phases_ns", phases(&row.phases))
        .with("in_block_layer_ns", row.in_block_layer_ns)
        .with(
            "beside_ns",
            row.beside_ns
                .iter()
                .map(|time| Tree::Int(*time))
                .collect::<Tree>(),
        )
}

fn io(io: &BlamedIo) -> Object {
    Object::new()
        .with("job", io.job)
        .with("direction", io.direction.name())
        .with("offset", io.offset)
        .with("bytes", io.len)
        .with("due_ns", io.due.get())
        .with("reaped_ns", io.reaped.get())
        .with("phases_ns", phases(&io.phases))
        .with("requests", io.pieces)
}

fn other(other: &BlameOther) -> Object {
    let object = match &other.who {
        OtherKind::Process { pid, name } => Object::new()
            .with("kind", "process")
            .with("pid", *pid)
            .with("name", name),
        OtherKind::Kernel => Object::new().with("kind", "kernel"),
        OtherKind::Flushes => Object::new().with("kind", "flushes"),
        OtherKind::OwnLargeWrites => Object::new().with("kind", "own_large_writes"),
        OtherKind::Rest => Object::new().with("kind", "rest"),
    };
    object
        .with("reads", other.reads.0)
        .with("read_bytes", other.reads.1)
        .with("writes", other.writes.0)
        .with("written_bytes", other.writes.1)
        .with("busy_ns", other.busy_ns)
}
