//! Tokens and cost of workspaces.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::read::row::{Row, number, text};

/// Tokens and cost of a workspace: as metered, and as its checkpoints claim.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    metered: (u64, u64),
    claimed: (u64, u64),
}

fn add(own: &mut (u64, u64), tokens: u64, cost: u64) {
    own.0 = own.0.saturating_add(tokens);
    own.1 = own.1.saturating_add(cost);
}

/// Tokens and cost of many workspaces.
#[derive(Clone, Debug, Default)]
pub(super) struct Usages(BTreeMap<String, Usage>);

impl Usages {
    /// Adds the usage that an entry records.
    pub(super) fn take(&mut self, row: &Row<'_>, body: &Value) {
        match &*row.kind {
            "meter.reported" => {
                let Some(id) = text(body, "workspace_id") else { return };
                let own = &mut self.0.entry(id.to_owned()).or_default().metered;
                add(own, number(body, "tokens"), number(body, "cost"));
            }
            "checkpoint_created" => {
                let (Some(id), Some(usage)) = (text(body, "workspace"), body.get("resource_usage"))
                else {
                    return;
                };
                let own = &mut self.0.entry(id.to_owned()).or_default().claimed;
                add(own, number(usage, "tokens_consumed"), number(usage, "cost"));
            }
            _ => {}
        }
    }

    /// Tokens and cost of a workspace: as metered, or else as the workspace claims. Both are about
    /// the same work, so they are never added.
    pub(super) fn of(&self, workspace: &str) -> (u64, u64) {
        let Some(own) = self.0.get(workspace) else { return (0, 0) };
        let either = |metered: u64, claimed: u64| if metered > 0 { metered } else { claimed };
        (either(own.metered.0, own.claimed.0), either(own.metered.1, own.claimed.1))
    }

    /// Tokens and cost of some workspaces together.
    pub(super) fn sum<'w>(&self, workspaces: impl Iterator<Item = &'w String>) -> (u64, u64) {
        let mut sum = (0, 0);
        for workspace in workspaces {
            let (tokens, cost) = self.of(workspace);
            add(&mut sum, tokens, cost);
        }
        sum
    }

    /// Tokens and cost of all workspaces.
    pub(super) fn total(&self) -> (u64, u64) {
        self.sum(self.0.keys())
    }
}
