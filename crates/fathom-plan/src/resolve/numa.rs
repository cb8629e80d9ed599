//! `numa_cpu_nodes` and `numa_mem_policy`.

use fathom_model::{MemoryMode, MemoryPolicy, Numa};

use super::job::View;
use super::report::Report;

/// Nodes the kernel can count.
const MOST_NODES: u32 = 1024;

/// Resolves where the worker and its buffers live.
pub(crate) fn resolve(view: &View<'_>, report: &mut Report) -> Numa {
    let nodes = view
        .settings
        .text("numa_cpu_nodes")
        .map(|text| listed(view, "numa_cpu_nodes", text, report));
    let memory = view
        .settings
        .text("numa_mem_policy")
        .and_then(|text| policy(view, text, report));
    Numa {
        cpu_nodes: nodes.unwrap_or_default(),
        memory,
    }
}

fn policy(view: &View<'_>, text: &str, report: &mut Report) -> Option<MemoryPolicy> {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let mode = match word.trim() {
        "default" => return None,
        "local" => MemoryMode::Local,
        "prefer" => MemoryMode::Prefer,
        "bind" => MemoryMode::Bind,
        "interleave" => MemoryMode::Interleave,
        _ => {
            let shown = crate::jobfile::shorten(word);
            let problem = view.error("numa_mem_policy", format!("'{shown}' is no policy"));
            report.push(
                problem.advise("use default, local, prefer:NODE, bind:NODES or interleave:NODES"),
            );
            return None;
        }
    };
    if mode == MemoryMode::Local {
        return Some(MemoryPolicy {
            mode,
            nodes: Vec::new(),
        });
    }
    let nodes = listed(view, "numa_mem_policy", rest, report);
    if mode == MemoryMode::Prefer && nodes.len() > 1 {
        report.push(
            view.error("numa_mem_policy", "can prefer one node only")
                .advise("write prefer:0, for example"),
        );
    }
    Some(MemoryPolicy { mode, nodes })
}

/// Nodes such as `0,2-3`; `all` is the empty list.
fn listed(view: &View<'_>, option: &'static str, text: &str, report: &mut Report) -> Vec<u32> {
    if text.trim() == "all" {
        return Vec::new();
    }
    let mut nodes = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        match (low.trim().parse::<u32>(), high.trim().parse::<u32>()) {
            (Ok(low), Ok(high)) if low <= high && high < MOST_NODES => nodes.extend(low..=high),
            _ => {
                let shown = crate::jobfile::shorten(part);
                let problem = view.error(option, format!("'{shown}' is no node"));
                report.push(problem.advise("list nodes such as 0,2-3"));
                return Vec::new();
            }
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
