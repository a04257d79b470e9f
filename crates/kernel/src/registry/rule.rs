//! Every rule that Althing enforces and can cite, by its id.
//!
//! Refusals, errors of the command line and `docs/reference/rules.md` all draw on this list, so a
//! reader who meets a rule id finds its meaning and the remedy here.

use serde::Deserialize;
use serde::Serialize;

macro_rules! rules {
    ($( $variant:ident $id:literal : $text:literal => $way_out:literal; )*) => {
        /// A rule that a refusal or an error cites.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Rule {
            $(
                #[doc = $text]
                #[serde(rename = $id)]
                $variant,
            )*
        }

        impl Rule {
            /// All rules, in the order of this file.
            pub const ALL: &'static [Rule] = &[$(Rule::$variant),*];

            /// The stable id, as printed in errors and recorded in the trail.
            pub fn id(self) -> &'static str {
                match self { $(Rule::$variant => $id),* }
            }

            /// The text of the rule.
            pub fn text(self) -> &'static str {
                match self { $(Rule::$variant => $text),* }
            }

            /// The remedy: advice for the caller who was refused.
            pub fn way_out(self) -> &'static str {
                match self { $(Rule::$variant => $way_out),* }
            }
        }
    };
}

rules! {
    AgentKeyBound "A-ID-01":
        "An agent's name belongs to the key that first used it."
        => "Use another name, or the state folder that holds this agent's key.";
    PersonNeedsCredential "A-ID-02":
        "Commands that only a person may issue require that person's own credential."
        => "Run `althing login NAME` as that person, then repeat the command with `--user NAME`.";
    UserAdmission "A-ID-03":
        "The first user of a project is admitted by signing up; every later one by a user who manages people."
        => "Ask a user who holds `deactivate_user` to run `althing users add NAME KEY`.";
    UserUnique "A-ID-04":
        "A user id and its key belong to one person and are assigned only once."
        => "Choose another user id, and a key of that person's own.";
    SomebodyKeepsPeople "A-USER-01":
        "There is always an active person who can manage people."
        => "Grant `deactivate_user` to somebody else who is active first.";
    PeopleAmongThemselves "W-USER-01":
        "Only people manage people; agents cannot."
        => "Have a person who holds `deactivate_user` do it with `--user ID`.";
    UserStep "W-USER-02":
        "A person is active, suspended, blocked or deactivated, and makes only the transitions of that table."
        => "Look at `althing users show ID`; the allowed transitions are listed.";
    UserActive "W-USER-04":
        "Only an active person can act or be made an owner."
        => "Have somebody who manages people resume, unblock or reactivate them.";
    Transfer "W-USER-12":
        "A workspace is transferred from its owner to another person."
        => "Name somebody else; `althing workspace show` shows the owner.";
    Capability "W-USER-41":
        "A person needs a capability for what they do: for the workspaces they own, or for all."
        => "Ask the owner, or a person who holds one of the capabilities named (`althing users show ID`); those that \
        end in `_any` hold for all workspaces.";
    GrantHeld "W-USER-42":
        "Nobody grants a capability they do not hold, and an implicit capability cannot be revoked."
        => "Look at `althing users show ID`; ask somebody who holds it.";
    SystemOnly "A-ID-05":
        "Only the runtime itself issues this command; agents and people cannot."
        => "There is nothing to do: the runtime issues it when it is due.";
    SessionOwned "A-SESS-01":
        "A command runs in an open session of the caller."
        => "Open a session with `althing do session.open`, or leave `--session` out to use the agent's standing one.";
    AgentsHaveSessions "A-SESS-02":
        "Sessions belong to agents; people and the coordinator act without one."
        => "Leave `--session` out, or act as an agent with `--as NAME`.";
    PeerOnly "A-SESS-03":
        "A connected agent is a workspace of role `peer`: it can be looked at and ended, and is in no run."
        => "Give it a workspace in a run with `althing workspace create`, or end it with `althing workspace abort`.";
    PeerEnds "A-SESS-04":
        "A peer is ended by a person who may abort workspaces, or by the coordinator where there are no people."
        => "Have a person run `althing workspace abort ID --user NAME`; the agent itself closes its session with \
        `althing do session.close`.";
    NoOverlap "A-LEASE-01":
        "Two holders never hold overlapping surfaces at the same time."
        => "Wait until it ends (`althing claim … --wait 10m`), ask the holder to release it, or claim \
        something else.";
    LeaseLive "A-LEASE-02":
        "Only a live lease can be renewed, released or forced."
        => "See what is held with `althing claims`, and claim again with `althing claim` if the surface is free.";
    HolderOnly "A-LEASE-03":
        "Only the holder renews or releases a lease."
        => "Ask the holder, or have a person end it with `althing release LEASE --force --reason …`.";
    Fenced "A-LEASE-04":
        "A lease is used with the epoch it was granted under; an older one is fenced off."
        => "Claim again with `althing claim` and use the epoch it prints.";
    ForceNeedsRight "A-LEASE-05":
        "Ending somebody else's lease needs a person or the coordinator, and a reason."
        => "Have a person run `althing release LEASE --force --reason … --user NAME`.";
    LeasesPerSession "A-LEASE-06":
        "A session holds at most 1,000 leases at a time."
        => "Claim folders or globs instead of single files, or release what is done.";
    ClaimFirst "A-LEASE-07":
        "Where a project asks for it, files are claimed before they are changed."
        => "Claim them with `althing claim PATH --as NAME`, or `claim` over MCP, and repeat the change.";
    GitOwn "A-LEASE-08":
        "Git's own folder and the state folder are changed by git and Althing alone."
        => "Use a git command, or an `althing` command, for what you want to change there.";
    AgentRevoked "A-AGENT-01":
        "A revoked agent opens and renews no leases."
        => "Have a person who holds `suspend_any`, or the coordinator, reinstate it: `althing do agent.reinstate`.";
    RevokeNeedsRight "A-AGENT-02":
        "Only the system, the coordinator and people with the capability revoke and reinstate agents."
        => "Have a person who holds `suspend_any` do it with `--user ID`, or ask the coordinator.";
    SharedRoom "A-SHARE-01":
        "The blackboard has a limit for each kind of item: symbols, facts, capsules, disputes, baselines."
        => "Do what the message says; `althing symbol list`, `althing fact list` and `althing capsule list` \
        show what there is.";
    CapsuleLines "A-SHARE-02":
        "A capsule has at most 10 lines written out, and depends directly on at most 32 others."
        => "Say it shorter, or split it into two capsules; the one before stays as it was.";
    CapsuleCycle "A-SHARE-03":
        "Capsules never depend on each other in a cycle."
        => "Leave out the dependency that the message names; `althing do capsule.deps` shows the dependencies.";
    DisputeOnce "A-SHARE-04":
        "A dispute id is used only once."
        => "Give it another id; `althing do dispute.get` shows the one that has this id.";
    SaySomething "A-SHARE-05":
        "Text that is written for others must not be empty."
        => "Give the text that the message names.";
    RecordRoom "A-MEM-01":
        "At most 250,000 records are stored at a time."
        => "Archive finished records with `althing memory remove KIND ID`; the trail keeps them.";
    RecordKnown "A-MEM-02":
        "A command about a record needs a record that exists."
        => "Check the id: `althing memory find KIND` lists what there is, and `althing trail` what was archived.";
    RecordStep "A-MEM-03":
        "A record makes only the transitions of its kind's table."
        => "Make one of the allowed transitions, listed with the error: `althing memory transition`.";
    RecordField "A-MEM-04":
        "A record has the fields of its kind: required ones must be given, those the kernel writes must not."
        => "`althing do --schema memory.create` lists the fields; a state is changed with `althing memory \
        transition`.";
    RecordLinks "A-MEM-05":
        "References between records name existing ones of the right kind, and plans never wait for each \
        other in a cycle."
        => "Correct the reference that the message names; `althing memory find KIND` lists what there is.";
    RecordOwner "A-MEM-06":
        "An assignment is reported on by its agent, and given out, cancelled and rerouted by its dispatcher; \
         the visibility of a trap is set by its author."
        => "Ask the agent, the dispatcher or the author; people who hold `abort_any` may with `forced`.";
    RecordVersion "A-MEM-07":
        "A change that expects a version is refused if the record has another one."
        => "Read the record again with `althing memory get`, look at what changed, and repeat the change.";
    RequestOnce "A-MEM-08":
        "A request id (idempotency key) identifies one request, for a day."
        => "Use another request id for another request.";
    RecordOver "A-MEM-09":
        "Only records that have ended are archived."
        => "Finish it first: make one of the allowed transitions with `althing memory transition`.";
    PlanTaken "A-MEM-10":
        "A plan is given out only while it has not ended and has no open assignment."
        => "Wait for the assignment that is named, or have it rerouted or cancelled.";
    NextReady "A-WORK-01":
        "A task is taken when everything it depends on is done and nobody else has it or what it is about."
        => "Wait for what is named, or plan more with `althing plan TEXT`; `althing board` shows who works on \
        what.";
    LaneCommitted "A-MEM-11":
        "Work is dispatched from committed files only, since a worktree has nothing else."
        => "Commit the files that are named, name a commit with `ref`, or say `allow_dirty`.";
    LaneScope "A-MEM-12":
        "Changes accepted from a lane must lie within the scope it was offered with."
        => "Have a person or the dispatcher look at it and pass `--allow-outside`, or take the files out of \
        the lane.";
    ProjectOnce "A-PROJ-01":
        "A project is created once, as the first entry of its trail."
        => "Use the project that is there (`althing status`), or another folder.";
    ProjectExists "A-PROJ-02":
        "A trail begins with the creation of its project."
        => "Run `althing init` first.";
    RuntimeKeyKnown "A-PROJ-03":
        "A runtime signs with the key the trail names, or records that it takes over with another."
        => "Restore `keys/runtime.key` from a backup, or run `althing doctor --rekey --reason …`.";
    Usage "A-USE-01":
        "Input that cannot be read changes nothing."
        => "See the command's `--help`, or `althing do --schema NAME` for a command by name.";
    SurfaceGrammar "A-USE-02":
        "A surface is a path inside the project, a glob, or `path#symbol`."
        => "Write a path from the project root, a glob, or `path#symbol`; see `docs/reference/surfaces.md`.";
    Limits "A-USE-03":
        "Every input has a stated limit."
        => "Stay within the limit that the message names.";
    WhoAreYou "A-USE-04":
        "A command that changes something must name its caller."
        => "Pass `--as NAME` (or set ALTHING_AGENT), a different name for each agent; people pass `--user NAME`.";
    NotFound "A-USE-05":
        "The object of a command or query must exist."
        => "Check the name: `althing status` and the list command of that kind of object show what there is.";
    NoSecrets "A-USE-06":
        "Text that looks like a secret is not put on the trail, where it would stay."
        => "Take the secret out and ask again; name where it is kept instead.";
    NoProject "A-STORE-01":
        "Commands run inside a project."
        => "Run `althing init` in the project, or pass `--project DIR`.";
    StoreUnavailable "A-STORE-02":
        "Nothing is acknowledged before it is safely stored."
        => "Run `althing doctor` to see what is wrong, then repeat the command; reading still works.";
    StoreNewer "A-STORE-03":
        "A state folder written by a newer version is left untouched."
        => "Use that version of Althing or a newer one; `althing --version` shows yours.";
    StoreForeign "A-STORE-04":
        "Only a store written by Althing is opened."
        => "Check the store that `althing config` shows, and `--store`.";
    Integrity "A-TRAIL-01":
        "Every entry follows from the one before it, and every commit is covered by a signed head."
        => "Keep the store as it is. `althing recover --from BACKUP` puts entries back; `althing backup \
        --restore BACKUP` restores all.";
    KeptHead "A-TRAIL-02":
        "A trail contains every head anyone ever kept of it."
        => "Entries were cut off or replaced since that head was signed: compare with a backup, `althing \
        trail verify --file FILE`.";
    WarmOnly "A-TRAIL-03":
        "Only entries of a workspace that has ended are moved to an archive, and once."
        => "There is nothing to do: `althing trail compact` picks what has ended.";
    ArchiveThere "A-TRAIL-04":
        "Archived entries are part of the trail until their deletion is recorded."
        => "Put the file back into `archive/`, from `archive/` of a backup; `althing trail tiers` lists them.";
    Retention "A-TRAIL-05":
        "Archives are deleted only after their retention period, and only on request."
        => "Wait, or set `archive_retention` of `[trail]` in althing.toml; by default archives are kept for ever.";
    PostGiven "A-RUN-01":
        "If there are users, one of them appoints the coordinator; otherwise the first agent to ask becomes it."
        => "Have a person run `althing coordinator start --agent NAME --user ID`.";
    RunNeeded "W-SYS-01":
        "Work needs a run, which starts with the coordinator's workspace."
        => "Start a run with `althing coordinator start --as NAME`.";
    RunOver "W-SYS-03":
        "A run ends regularly once everything below its root has ended."
        => "Wait for the workspaces named, abort them with `althing workspace abort`, or run `althing \
        coordinator stop --force`.";
    OneCoordinator "W-SEC-05":
        "There is one coordinator, and its workspace exists before any other."
        => "Use the current run, or end it with `althing coordinator stop`.";
    ReferenceKnown "W-ID-07":
        "Everything that a command refers to must exist."
        => "Check the id: `althing workspace tree`, `althing task list`, `althing inbox` and `althing \
        users` show what there is.";
    CoordinatorOnly "W-ROLE-04":
        "Only the coordinator creates, ends and suspends workspaces, plans tasks, grants rights and \
        hands over its role."
        => "Ask the coordinator, or have a person do it with `--user ID`.";
    Matrix "W-ROLE-03":
        "An envelope is sent only if the permission matrix allows it."
        => "Send one of the allowed types, or register one in the taxonomy of the next run.";
    CreateRight "W-WS-10":
        "Only the coordinator creates workspaces, or a delegate below its own."
        => "Ask the coordinator, or create below a workspace of yours that is a delegate.";
    CreationSound "W-WS-13":
        "A workspace is created whole or not at all: with a registered role, a live parent and a directive."
        => "Correct what the message names and create it again.";
    AgentKnown "W-WS-16":
        "A workspace is bound only to an agent that has registered."
        => "Have the agent run `althing --as NAME agents register` once.";
    PriorityChange "W-WS-15":
        "A priority changes while its workspace is active or blocked."
        => "Set it with `althing workspace create --priority`, or once the workspace is active.";
    BudgetGrows "W-RES-07":
        "A limit can only be raised, while its workspace is idle, active or blocked; what is not \
        limited stays unlimited."
        => "Raise what was limited from the start, before the work is finished; see `althing meter WS`.";
    BudgetDrawn "W-RES-08":
        "A workspace below a limited one draws on its budget: limited in the same dimensions, within \
        what is left there."
        => "Give it limits within those that are allowed, or have the limits above raised first.";
    Capacity "W-ADM-01":
        "A workspace is created only within the resource limits of the run."
        => "Wait until others end (`althing workspace list --live`), or start the next run with other limits.";
    MeterReport "W-RES-03":
        "The resource use of a workspace is reported by its agent, or by a caller who commands it."
        => "Report for a workspace of your own, or ask the coordinator to.";
    SignalBudget "W-SIG-13":
        "A warning about a budget comes with the signal `blocked`."
        => "Leave it out, or emit `blocked`.";
    OwnWorkspace "W-WS-02":
        "An agent acts in the workspaces it is bound to, and in no others."
        => "Name one of your own with `--workspace` (`althing workspace list --as NAME` shows them); the coordinator \
        gives you one with `althing task assign` or `althing workspace create`.";
    StateAllows "W-WS-21":
        "A workspace makes only the transitions of its state table."
        => "See its state with `althing workspace show ID`, and make one of the allowed transitions.";
    Ended "W-WS-25":
        "A workspace that has ended accepts nothing more."
        => "Create a new workspace for further work: `althing workspace create`.";
    ChildrenFirst "W-TREE-03":
        "A workspace does not complete before its live children of the same owner."
        => "Wait for the workspaces below, or have them aborted: `althing workspace abort ID`.";
    Containment "W-TREE-10":
        "A workspace sees and changes nothing that its parent does not."
        => "Ask for less, or create it below a parent that has more.";
    AskedOnce "W-GT-01":
        "A workspace is asked to finish only once; its grace period runs from then."
        => "Wait until its grace period is over, or end it now: `althing workspace abort ID`.";
    OrphansOnly "W-TREE-08":
        "Only a workspace that lost its parent is given another one, and only once."
        => "Name a workspace at work that is not below it; see `althing workspace list --orphans`.";
    ShownOnce "W-VIS-02":
        "Visibility of a workspace is granted only once, and permanently."
        => "There is nothing to do: it may already read it, as `althing workspace show ID` says.";
    ShowsWhatItSees "W-VIS-03":
        "Visibility is granted only of workspaces that the granter and the parent of the viewer can see."
        => "Grant it to the workspace above first, or ask the coordinator.";
    Authority "W-VIS-04":
        "A workspace changes only what it was given authority over."
        => "Leave those files out, or have a workspace created with authority over them.";
    TrailScope "W-TRAIL-30":
        "An agent at work reads its own local trail and those it was granted, not the whole trail."
        => "Ask about your own workspace (`althing trail --workspace WS`), or ask the coordinator.";
    TypeRegistered "W-TAX-05":
        "Roles and types are registered before they are used."
        => "Use one of the allowed names, or start a run with a taxonomy that has it.";
    TaxonomySound "W-TAX-03":
        "A taxonomy is loaded as a whole or not at all."
        => "Correct what the message names; `althing do --schema run.start` shows the form.";
    EnvelopeSound "W-ENV-09":
        "An envelope is checked as a whole before it is accepted."
        => "Correct what the message names and send it again.";
    InboxSealed "W-ENV-19":
        "A workspace that is being integrated or has ended receives nothing."
        => "Send to its parent, or create a new workspace: `althing workspace create`.";
    SendRight "W-PORT-02":
        "A workspace needs a right to send to another one."
        => "Send to one of the allowed workspaces, or have the coordinator run `althing right grant`.";
    RightTransfer "W-PORT-06":
        "A workspace transfers only rights to send that it holds itself."
        => "Leave the right out; `althing right list WS` shows the ones held.";
    RightLive "W-PORT-07":
        "Only a live right to send can be revoked."
        => "See the rights there are with `althing right list WS`.";
    MayEmit "W-SIG-03":
        "A role emits only the signals it is allowed to."
        => "Emit one of the allowed signals.";
    SignalReason "W-SIG-02":
        "The signals blocked, failed and escalation need a reason."
        => "Give a reason with `--reason`.";
    CheckpointSound "W-CP-01":
        "A checkpoint has an intent and refers to stored content."
        => "Correct what the message names and create it again.";
    CheckpointType "W-CP-05":
        "A role creates only the types of checkpoints it is allowed to."
        => "Use a type of your role; workers create `artifact`, observers `observation`.";
    CheckpointChain "W-CP-07":
        "A checkpoint builds on the newest one of its workspace."
        => "Name the newest one as its parent; `althing checkpoint list WS` shows it.";
    CheckpointActive "W-CP-08":
        "Checkpoints are created while a workspace is active."
        => "If the workspace is blocked, run `althing signal started` first; otherwise its work is over.";
    TaskGraph "W-TASK-03":
        "Tasks of one graph depend on each other without a cycle."
        => "Correct what the message names and plan it again.";
    TaskStep "W-TASK-05":
        "A task makes only the transitions of its state table."
        => "See its state with `althing task show ID`, and make one of the allowed transitions.";
    TaskGoverned "A-TASK-01":
        "A task that a run has taken moves only by its workspace's signals and the coordinator's orders."
        => "Say it in its workspace with `althing signal`, or ask the coordinator; `althing task show ID` names both.";
    AttemptGoverned "A-ATT-01":
        "An assignment that is a workspace of a run is offered, timed out and retried by the run; \
        its agent and the coordinator move it otherwise."
        => "Say `accepted`, `started`, `blocked`, `completed` or `failed` as its agent, or `cancelled` \
        or `rerouted` as the coordinator; `althing task retry ID` allows another attempt.";
    OpenAttempt "A-ATT-02":
        "An attempt outside runs is moved by its agent's signals, and aborted or given to another \
        agent by whoever dispatched it."
        => "Use `althing signal`, `althing workspace abort` or `althing workspace migrate`; for other \
        orders start a run.";
    AuthorityLease "A-ATT-03":
        "The lease for the authority of a workspace ends with the workspace."
        => "Complete or abort the workspace; a person can end the lease with \
        `althing release LEASE --force --reason … --user NAME`.";
    BranchOnce "A-GIT-01":
        "The files of a workspace are on one branch, from its first to its last day."
        => "See it with `althing workspace show WORKSPACE`; another attempt gets another workspace.";
    MergeInGit "A-GIT-02":
        "Work whose files are in git is merged by git."
        => "Let `althing run` merge it: it makes the merge in git and checks it.";
    MergeStale "A-GIT-03":
        "A merge builds on the newest commit on record of its branch."
        => "Make it again on the newest commit; `althing run` does so by itself.";
    ProcessReport "A-PROC-01":
        "The agent of a workspace, or who commands it, records its processes, one at a time."
        => "See what runs with `althing ps`.";
    RunHolds "A-RUN-02":
        "A run on hold gives out no work."
        => "Go on with `althing resume`.";
    TaskReady "W-TASK-07":
        "A task can be assigned once all its dependencies are done."
        => "Wait for the tasks named; `althing task ready` shows what can be assigned.";
    Integrator "W-INT-01":
        "The coordinator decides about finished work, and a delegate about the work below it."
        => "Ask the coordinator; `althing status` says who that is.";
    OneMerge "W-INT-05":
        "Only one merge into a workspace is in progress at a time."
        => "First resolve the conflicts of the merge in progress: `althing integrate WS resolve`.";
    FinalNeeded "W-INT-13":
        "Without a final checkpoint there is nothing to merge."
        => "Send the work back with `althing integrate WS revise`, or turn it down with `althing integrate \
        WS reject`.";
    MergeSound "W-INT-03":
        "Only an evaluated merge brings merged files, and conflicts other than failed checks."
        => "Give `merged`, and conflicts other than `constraint_breach`, with `evaluated` alone.";
    SalvageFailed "W-INT-20":
        "Only work that a failed workspace recorded in a checkpoint can be salvaged."
        => "Accept or reject work that is finished; what was never recorded is lost.";
    ChecksStay "A-INT-01":
        "Only a person can skip the project's checks."
        => "Have a person say so with `--no-checks --user ID`, or let the checks run.";
    ConflictOpen "W-INT-08":
        "Only an open conflict can be resolved, one at a time."
        => "Name one of the open conflicts; `althing workspace show ID` lists them.";
    PersonDecides "W-HH-35":
        "Only people decide at gates, answer escalations, inject messages and change the highway's settings; \
        each with their own credential."
        => "Have a person do it with their credential: `althing login NAME`, then `--user NAME`.";
    GateOpen "W-HH-06":
        "A gate is closed only once."
        => "See what waits with `althing gate list`; `althing gate list --all` also shows closed gates.";
    GateWaits "W-HH-02":
        "An action that waits for a person's approval cannot be requested again."
        => "Wait for the answer, or have a person give it: `althing gate list`, then `althing gate approve`.";
    GateFields "W-HH-04":
        "At a gate a person can change only the fields that the gate allows, with modify."
        => "Change one of the allowed fields, or approve or reject it as it is.";
    TaskWaits "W-HH-09":
        "If plans need approval, a person approves them, or the coordinator if a person chose that for \
        gates nobody answers."
        => "Have a person run `althing gate approve --user NAME`; after a timeout, ask again with `althing \
        gate ask GATE`.";
    PeopleChoose "A-HH-01":
        "If there are users, only they choose that unanswered gates are approved or left to the coordinator, \
        or that people are asked less than by default."
        => "Leave the settings out, or have a person choose them: `althing highway set … --user NAME`.";
    AskAgain "A-HH-02":
        "People are asked again only about what nobody answered in time, while it can still be decided."
        => "See how it ended with `althing gate show GATE`; order it anew if it still matters.";
    InjectionOn "W-HH-20":
        "People inject messages only if the run's highway allows it."
        => "Have it switched on with `althing highway set --injection on`.";
    EscalationOpen "W-HH-33":
        "An escalation is answered only once."
        => "See what waits for a person with `althing escalations`.";
    EscalationAnswer "W-HH-30":
        "An escalation is answered with a message, by ending the workspace, or by delegating it to the coordinator."
        => "Answer with a message: `althing escalations answer`; ending or delegating takes none.";
    CausedBy "W-USER-31":
        "The originator of a workspace is the person whose message caused it, or the originator of its parent."
        => "Name an envelope that a person sent, and create the workspace below one of the system's own.";
    CheckpointProven "W-INT-11":
        "A checkpoint is merged and shown only if it is what its workspace made."
        => "Have it done again with `revise`; `althing trail --kind integrity_violation` tells what was found.";
    DeploymentComplete "W-SEC-09":
        "A deployment model can be declared only if every mechanism it requires is in place."
        => "Declare one of the allowed models with `--deployment` or in `althing.toml`.";
    ContentShown "W-SEC-10":
        "Content is shown only to those who may read what it belongs to: mail to sender and receiver, \
        work to those who see it."
        => "Ask the coordinator, or have a person look at it.";
    ContentCited "W-SEC-11":
        "Naming the hash of another's content does not give access to it."
        => "Give the content itself, as text or as a file.";
    Conformance "A-CONF-01":
        "Every requirement of the protocol is shown by a test that passes."
        => "Run the tests that are named and repair what they find, then run `scripts/test` again.";
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_every_rule_has_a_text_and_a_way_out() {
        let ids: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), Rule::ALL.len());
        for rule in Rule::ALL {
            assert!(rule.text().ends_with('.'), "{rule}");
            assert!(rule.way_out().ends_with('.'), "{rule}");
        }
    }
}
