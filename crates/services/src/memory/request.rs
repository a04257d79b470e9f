//! Requests: a verb with its arguments, read from what a host sent or filled in by a caller in this
//! process.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Verb;
use super::args::{
    CompleteStep, Context, Coordinate, Create, Dispatch, Find, Get, Harvest, Loop, Remove, Sweep,
    Transition, Update, Work,
};
use super::reading::read;
use crate::error::Error;

/// A verb with its arguments.
#[derive(Clone, Debug)]
pub enum Request {
    /// Open a session; claim a scope.
    Work(Work),
    /// Read a view of the shared state.
    Context(Context),
    /// List records.
    Find(Find),
    /// Fetch one record.
    Get(Get),
    /// Create a record.
    Create(Create),
    /// Change the fields of a record.
    Update(Update),
    /// Move a record to another state.
    Transition(Box<Transition>),
    /// Finish a step of a plan.
    CompleteStep(CompleteStep),
    /// Archive a record.
    Remove(Remove),
    /// Assign work to agents, or ask them.
    Coordinate(Box<Coordinate>),
    /// Offer the plans of a sequence in order.
    Dispatch(Dispatch),
    /// Work in rounds, with phases and turns.
    Loop(Box<Loop>),
    /// Move on overdue assignments.
    Sweep(Sweep),
    /// Collect results left in worktrees.
    Harvest(Harvest),
}

/// The fields of a record or a filter that name plans.
const PLANS: [&str; 5] = ["id", "planId", "plan_id", "depends_on", "plan"];

impl Request {
    /// Reads the arguments of a verb.
    pub(super) fn read(verb: Verb, given: &Value) -> Result<Self, Error> {
        Ok(match verb {
            Verb::Work => Request::Work(read(verb, given)?),
            Verb::Context => Request::Context(read(verb, given)?),
            Verb::Find => Request::Find(read(verb, given)?),
            Verb::Get => Request::Get(read(verb, given)?),
            Verb::Create => Request::Create(read(verb, given)?),
            Verb::Update => Request::Update(read(verb, given)?),
            Verb::Transition => Request::Transition(read(verb, given)?),
            Verb::CompleteStep => Request::CompleteStep(read(verb, given)?),
            Verb::Remove => Request::Remove(read(verb, given)?),
            Verb::Coordinate => Request::Coordinate(read(verb, given)?),
            Verb::Dispatch => Request::Dispatch(read(verb, given)?),
            Verb::Loop => Request::Loop(read(verb, given)?),
            Verb::Sweep => Request::Sweep(read(verb, given)?),
            Verb::Harvest => Request::Harvest(read(verb, given)?),
        })
    }

    /// The verb.
    pub fn verb(&self) -> Verb {
        match self {
            Request::Work(_) => Verb::Work,
            Request::Context(_) => Verb::Context,
            Request::Find(_) => Verb::Find,
            Request::Get(_) => Verb::Get,
            Request::Create(_) => Verb::Create,
            Request::Update(_) => Verb::Update,
            Request::Transition(_) => Verb::Transition,
            Request::CompleteStep(_) => Verb::CompleteStep,
            Request::Remove(_) => Verb::Remove,
            Request::Coordinate(_) => Verb::Coordinate,
            Request::Dispatch(_) => Verb::Dispatch,
            Request::Loop(_) => Verb::Loop,
            Request::Sweep(_) => Verb::Sweep,
            Request::Harvest(_) => Verb::Harvest,
        }
    }

    /// The arguments that differ from their defaults, as a host would send them.
    pub(super) fn given(&self) -> Result<Value, Error> {
        match self {
            Request::Work(own) => stated(own),
            Request::Context(own) => stated(own),
            Request::Find(own) => stated(own),
            Request::Get(own) => stated(own),
            Request::Create(own) => stated(own),
            Request::Update(own) => stated(own),
            Request::Transition(own) => stated(own),
            Request::CompleteStep(own) => stated(own),
            Request::Remove(own) => stated(own),
            Request::Coordinate(own) => stated(own),
            Request::Dispatch(own) => stated(own),
            Request::Loop(own) => stated(own),
            Request::Sweep(own) => stated(own),
            Request::Harvest(own) => stated(own),
        }
    }

    /// Visits every text that may be the id of a plan.
    pub(super) fn visit_plans(&mut self, visit: &mut dyn FnMut(&mut String)) {
        match self {
            Request::Work(Work { plan, .. }) => plan.iter_mut().for_each(visit),
            Request::Find(Find { filter, .. }) => in_fields(filter, visit),
            Request::Get(Get { id, .. }) | Request::Remove(Remove { id, .. }) => visit(id),
            Request::Create(Create { data, .. }) => in_fields(data, visit),
            Request::Update(Update { id, patch, .. }) => {
                visit(id);
                in_fields(patch, visit);
            }
            Request::Transition(own) => visit(&mut own.id),
            Request::CompleteStep(CompleteStep { plan, .. }) => visit(plan),
            Request::Coordinate(own) => own.plan.iter_mut().for_each(visit),
            Request::Loop(own) => own.plan.iter_mut().for_each(visit),
            Request::Context(_)
            | Request::Dispatch(_)
            | Request::Sweep(_)
            | Request::Harvest(_) => {}
        }
    }
}

fn in_fields(fields: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut String)) {
    let named = fields.iter_mut().filter(|(name, _)| PLANS.contains(&name.as_str()));
    named.for_each(|(_, value)| in_value(value, visit));
}

fn in_value(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(list) => list.iter_mut().for_each(|one| in_value(one, visit)),
        Value::Object(fields) => in_fields(fields, visit),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The arguments that differ from their defaults.
pub(super) fn stated(args: &impl Serialize) -> Result<Value, Error> {
    let given = serde_json::to_value(args).map_err(|error| Error::defect(error.to_string()))?;
    let Value::Object(mut given) = given else { return Ok(given) };
    given.retain(|_, value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(parts) => !parts.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    });
    Ok(Value::Object(given))
}
