//! Typed access to what a project shares: symbols, facts, capsules and the token ledger. Also the
//! clients of HAIDs.

use althing_dialects::frugal::haid::Haid;
use althing_engine::{Client, Signing};
use althing_kernel::agent::OfAgent;
use althing_kernel::blackboard::ledger::By;
use althing_kernel::blackboard::view::{
    BlackboardAnswer, CapsuleView, Delta, DeltaView, DepsView, FactView, HydratedView, OfFact,
    OfHandle, OfHandles, OfSymbol, OfValue, Report, ReportView, SymbolView,
};
use althing_kernel::blackboard::{Handle, Label};
use althing_kernel::query::{AgentView, Answer, Everything, LeaseList, LeaseView, Query};
use althing_kernel::{AgentName, Principal};

use crate::command_context::CommandContext;
use crate::error::Error;
use crate::haid::agent_name;
use crate::typed::text;

/// The answer to a question about what is shared; `None` if there is no such thing.
macro_rules! shared {
    ($context:expr, $query:expr, $variant:ident) => {
        match $context.request.look_up(&$query)? {
            Some(Answer::Blackboard(BlackboardAnswer::$variant(found))) => Ok(Some(found)),
            Some(other) => Err(Error::unexpected(&other)),
            None => Ok(None),
        }
    };
}

/// Everything there is of a sort; nothing where there is no project yet.
macro_rules! listed {
    ($context:expr, $query:expr, $variant:ident) => {
        shared!($context, $query, $variant).map(Option::unwrap_or_default)
    };
}

impl CommandContext<'_> {
    pub(crate) fn symbol(&self, id: Label) -> Result<Option<SymbolView>, Error> {
        shared!(self, Query::SymbolGet(OfSymbol { id }), Symbol)
    }

    /// The first symbol that stands for a value.
    pub(crate) fn symbol_for(&self, value: &str) -> Result<Option<SymbolView>, Error> {
        shared!(self, Query::SymbolReverse(OfValue { value: text(value)? }), Symbol)
    }

    pub(crate) fn symbols(&self) -> Result<Vec<SymbolView>, Error> {
        listed!(self, Query::SymbolList(Everything {}), Symbols)
    }

    pub(crate) fn fact(&self, key: Label) -> Result<Option<FactView>, Error> {
        shared!(self, Query::FactGet(OfFact { key }), Fact)
    }

    pub(crate) fn facts(&self) -> Result<Vec<FactView>, Error> {
        listed!(self, Query::FactList(Everything {}), Facts)
    }

    pub(crate) fn capsule(&self, id: Handle) -> Result<Option<CapsuleView>, Error> {
        let found: Result<_, Error> = shared!(self, Query::CapsuleGet(OfHandle { id }), Capsule);
        Ok(found?.map(|found| *found))
    }

    pub(crate) fn capsules(&self) -> Result<Vec<CapsuleView>, Error> {
        listed!(self, Query::CapsuleList(Everything {}), Capsules)
    }

    /// The dependencies of capsules, in an order in which each comes after its own.
    pub(crate) fn capsule_deps(&self, ids: Vec<Handle>) -> Result<Option<DepsView>, Error> {
        shared!(self, Query::CapsuleDeps(OfHandles { ids }), Deps)
    }

    /// The texts of capsules and of all capsules they depend on, dependencies first.
    pub(crate) fn hydrated(&self, ids: Vec<Handle>) -> Result<Option<HydratedView>, Error> {
        shared!(self, Query::CapsuleHydrate(OfHandles { ids }), Hydrated)
    }

    /// The tokens that were counted.
    pub(crate) fn token_report(&self, by: By) -> Result<Option<ReportView>, Error> {
        shared!(self, Query::LedgerReport(Report { by }), Report)
    }

    /// The tokens that were counted beside what was used before.
    pub(crate) fn token_deltas(&self, role: Option<Label>) -> Result<Vec<DeltaView>, Error> {
        listed!(self, Query::LedgerDelta(Delta { role }), Delta)
    }

    pub(crate) fn agent_view(&self, agent: AgentName) -> Result<Option<AgentView>, Error> {
        match self.request.look_up(&Query::AgentGet(OfAgent { agent }))? {
            Some(Answer::Agent(found)) => Ok(Some(*found)),
            Some(other) => Err(Error::unexpected(&other)),
            None => Ok(None),
        }
    }

    pub(crate) fn agents(&self) -> Result<Vec<AgentView>, Error> {
        match self.request.look_up(&Query::AgentList(Everything {}))? {
            Some(Answer::Agents(found)) => Ok(found),
            Some(other) => Err(Error::unexpected(&other)),
            None => Ok(Vec::new()),
        }
    }

    /// The live leases of anybody or of one holder, the oldest first.
    pub(crate) fn leases(&self, holder: Option<Principal>) -> Result<Vec<LeaseView>, Error> {
        let asked = LeaseList { holder, surfaces: None };
        match self.request.look_up(&Query::LeaseList(asked))? {
            Some(Answer::Leases(mut leases)) => {
                leases.sort_by_key(|lease| lease.epoch);
                Ok(leases)
            }
            Some(other) => Err(Error::unexpected(&other)),
            None => Ok(Vec::new()),
        }
    }

    /// The client of a HAID whose key is here, or is made now.
    pub(crate) fn client_of(&self, haid: &Haid) -> Result<Client, Error> {
        let engine = self.request.engine()?;
        let client = engine.client(engine.agent(&agent_name(haid)?)?, Signing::Each);
        Ok(client.warning(&self.app.warnings))
    }
}
