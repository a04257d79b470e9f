//! The closed sets of words that records use: states and the values of fields.

use crate::values::closed_set::closed_set;

macro_rules! words {
    ($( #[$doc:meta] $name:ident { $( $variant:ident $word:literal; )* } )*) => {
        $(
            closed_set! {
                #[$doc]
                $name { $( #[doc = concat!("`", $word, "`")] $variant $word, )* }
            }
        )*
    };
}

words! {
    /// The states of all kinds of records, in alphabetical order.
    Status {
        Accepted "accepted"; Acknowledged "acknowledged"; Active "active"; Approved "approved";
        Assigned "assigned"; Blocked "blocked"; Cancelled "cancelled"; Closed "closed"; Completed "completed";
        Created "created"; Deferred "deferred"; Done "done"; Draft "draft"; Expired "expired"; Failed "failed";
        InProgress "in_progress"; Integrated "integrated"; Merged "merged"; Offered "offered"; Open "open";
        Paused "paused"; Pending "pending"; Proposed "proposed"; Rejected "rejected";
        Released "released"; Rerouted "rerouted"; Resolved "resolved"; Retrying "retrying";
        Started "started"; TimedOut "timed_out";
    }
    /// The states of a step of a plan.
    StepStatus {
        Blocked "blocked"; Done "done"; InProgress "in_progress"; Testing "testing"; Todo "todo";
    }
    /// The category of a constraint.
    Category {
        Architecture "architecture"; Performance "performance"; Security "security";
        Reliability "reliability"; Compatibility "compatibility"; Process "process";
        Other "other";
    }
    /// The severity of a trap.
    Severity { Low "low"; Medium "medium"; High "high"; }
    /// The audience of a record.
    Visibility { Shared "shared"; Machine "machine"; Private "private"; }
    /// The type of a plan.
    PlanType { Feat "feat"; Fix "fix"; Chore "chore"; Spike "spike"; Doc "doc"; }
    /// The priority of a plan.
    Priority { Low "low"; Medium "medium"; High "high"; Urgent "urgent"; }
    /// The verdict of a review.
    Verdict { Approve "approve"; RequestChanges "request_changes"; }
    /// The kind of record that an accepted candidate becomes.
    CandidateType {
        Constraint "constraint"; Decision "decision"; Trap "trap"; Handoff "handoff";
    }
    /// The kind of a loop.
    LoopKind {
        Review "review"; Ideation "ideation"; Implementation "implementation";
        Research "research"; Debug "debug";
    }
    /// The origin of a record.
    Origin { Agent "agent"; Human "human"; Auto "auto"; Legacy "legacy"; }
    /// Evidence that somebody is working.
    Evidence {
        ResultFile "result_file"; Commit "commit"; HeartbeatFile "heartbeat_file";
        WorktreeFile "worktree_file"; AckFile "ack_file";
    }
    /// A side effect of a record's transition.
    Action {
        Released "released"; AlreadyOver "already_over"; OwnershipDenied "ownership_denied";
        HandedOver "handed_over"; Opened "opened"; Moved "moved"; Followed "followed"; KeptOpen "kept_open";
        Promoted "promoted"; Superseded "superseded"; Created "created";
        Unchanged "unchanged";
    }
}

/// The transitions that a plan's step may make.
pub const STEP_EDGES: &[(StepStatus, StepStatus)] = {
    use StepStatus as S;
    &[
        (S::Todo, S::InProgress),
        (S::Todo, S::Blocked),
        (S::Todo, S::Done),
        (S::InProgress, S::Testing),
        (S::InProgress, S::Done),
        (S::InProgress, S::Blocked),
        (S::Testing, S::Done),
        (S::Testing, S::Blocked),
        (S::Testing, S::InProgress),
        (S::Blocked, S::InProgress),
        (S::Blocked, S::Todo),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_stand_in_the_order_of_their_words_as_canonical_json_has_them() {
        assert!(Status::ALL.is_sorted_by_key(|status| status.as_str()));
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
            assert_eq!(Status::named(status.as_str()), Some(*status));
        }
    }
}
