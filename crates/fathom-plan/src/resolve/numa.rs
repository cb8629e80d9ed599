//! `numa_cpu_nodes` and `numa_mem_policy`.

use fathom_model::{MemoryMode, MemoryPolicy, Numa};

use super::diagnostics::Diagnostics;
use super::job::JobView;
use crate::options::{JobOption, Text, table as opt};
use crate::text::shorten;

/// Limit of node numbers.
const MAX_NODES: u32 = 1024;

/// Resolves the NUMA nodes of the worker and its buffers.
pub(crate) fn resolve(view: &JobView<'_>, diagnostics: &mut Diagnostics) -> Numa {
    let nodes = view
        .settings
        .given(opt::NUMA_CPU_NODES)
        .map(|text| listed(view, opt::NUMA_CPU_NODES, text, diagnostics));
    let memory = view
        .settings
        .given(opt::NUMA_MEM_POLICY)
        .and_then(|text| policy(view, text, diagnostics));
    Numa {
        cpu_nodes: nodes.unwrap_or_default(),
        memory,
    }
}

fn policy(view: &JobView<'_>, text: &str, diagnostics: &mut Diagnostics) -> Option<MemoryPolicy> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let mode = match name.trim() {
        "default" => return None,
        "local" => MemoryMode::Local,
        "prefer" => MemoryMode::Prefer,
        "bind" => MemoryMode::Bind,
        "interleave" => MemoryMode::Interleave,
        _ => {
            let shown = shorten(name);
            let problem = view.error(opt::NUMA_MEM_POLICY, format!("unknown policy '{shown}'"));
            diagnostics.push(
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
    let nodes = listed(view, opt::NUMA_MEM_POLICY, rest, diagnostics);
    if mode == MemoryMode::Prefer && nodes.len() > 1 {
        diagnostics.push(
            view.error(opt::NUMA_MEM_POLICY, "prefer takes one node")
                .advise("for example prefer:0"),
        );
    }
    Some(MemoryPolicy { mode, nodes })
}

/// Nodes such as `0,2-3`; `all` is the empty list.
fn listed(
    view: &JobView<'_>,
    option: JobOption<Text>,
    text: &str,
    diagnostics: &mut Diagnostics,
) -> Vec<u32> {
    if text.trim() == "all" {
        return Vec::new();
    }
    let mut nodes = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        match (low.trim().parse::<u32>(), high.trim().parse::<u32>()) {
            (Ok(low), Ok(high)) if low <= high && high < MAX_NODES => nodes.extend(low..=high),
            _ => {
                let shown = shorten(part);
                let problem = view.error(option, format!("invalid node '{shown}'"));
                diagnostics.push(problem.advise("list nodes such as 0,2-3"));
                return Vec::new();
            }
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
