//! Requests on record: what the caller of an entry asked for, with the caller's signature if it
//! signs.

use althing_kernel::{Caller, Command, Principal, ProjectId, PublicKey, WorkspaceId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::hash::Domain;
use crate::key::{SecretKey, is_signed_by};

/// A signed request and its signature. Fields stand in canonical order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The caller's key.
    pub key: PublicKey,
    /// Unique value among the caller's requests.
    pub nonce: String,
    /// The command that was asked for.
    pub request: Request,
    /// The session it was asked in, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// The Ed25519 signature, in base64.
    pub sig: String,
}

/// A command by name, with its arguments.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The arguments, in canonical form.
    pub args: Box<RawValue>,
    /// Name of the command.
    pub name: String,
}

impl Request {
    /// The request for a command.
    pub fn of(command: &Command) -> Result<Self, serde_json::Error> {
        Ok(Request { args: command.args()?, name: command.name().to_owned() })
    }
}

/// A request of a caller that its channel authenticated, so that it need not sign.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsigned {
    /// The arguments, in canonical form.
    pub args: Box<RawValue>,
    /// Name of the command.
    pub name: String,
    /// The session it was asked in, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
}

/// The request that an entry carries. An audit decides it again.
#[derive(Clone, Debug)]
pub enum Asked {
    /// Signed by the caller.
    Signed(Signature),
    /// Not signed.
    Unsigned(Unsigned),
}

impl Asked {
    /// A request that its caller does not sign.
    pub fn unsigned(caller: &Caller, request: Request) -> Self {
        let Request { args, name } = request;
        Asked::Unsigned(Unsigned { args, name, session: caller.session.clone() })
    }

    /// The signature, if there is one.
    pub fn signature(&self) -> Option<&Signature> {
        match self {
            Asked::Signed(signature) => Some(signature),
            Asked::Unsigned(_) => None,
        }
    }

    /// The arguments of the command, as JSON.
    pub fn args(&self) -> &str {
        match self {
            Asked::Signed(signature) => signature.request.args.get(),
            Asked::Unsigned(unsigned) => unsigned.args.get(),
        }
    }

    /// The session it was asked in, if one was named.
    pub fn session(&self) -> Option<&WorkspaceId> {
        match self {
            Asked::Signed(signature) => signature.session.as_ref(),
            Asked::Unsigned(unsigned) => unsigned.session.as_ref(),
        }
    }

    /// The command, if it is one in canonical form.
    pub fn command(&self) -> Result<Command, SignatureError> {
        let name = match self {
            Asked::Signed(signature) => &signature.request.name,
            Asked::Unsigned(unsigned) => &unsigned.name,
        };
        canonical(name, self.args())
    }
}

/// Reads a command whose arguments must be in canonical form.
fn canonical(name: &str, args: &str) -> Result<Command, SignatureError> {
    let command =
        Command::read_recorded(name, args).and_then(Result::ok).ok_or(SignatureError::Request)?;
    let written = command.args().map_err(|_| SignatureError::Request)?;
    if written.get() == args { Ok(command) } else { Err(SignatureError::Request) }
}

/// Reasons why a signature is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// Not made by that key over that request.
    #[error("the caller's signature does not fit the request")]
    Invalid,
    /// The request is not a command in canonical form.
    #[error("its request is not a command in canonical form")]
    Request,
}

/// The signed statement, in canonical order.
#[derive(Serialize)]
struct Statement<'a> {
    caller: &'a Principal,
    nonce: &'a str,
    project: &'a ProjectId,
    request: &'a Request,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a WorkspaceId>,
}

impl Statement<'_> {
    fn bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = Domain::Command.prefix().to_vec();
        serde_json::to_writer(&mut bytes, self)?;
        Ok(bytes)
    }
}

impl Signature {
    /// Signs a request in the caller's name. `nonce` must be fresh.
    pub fn make(
        key: &SecretKey,
        project: &ProjectId,
        caller: &Caller,
        request: Request,
        nonce: [u8; 16],
    ) -> Result<Self, serde_json::Error> {
        let nonce = data_encoding::HEXLOWER.encode(&nonce);
        let statement = Statement {
            caller: &caller.principal,
            nonce: &nonce,
            project,
            request: &request,
            session: caller.session.as_ref(),
        };
        let sig = data_encoding::BASE64.encode(&key.sign(&statement.bytes()?));
        Ok(Signature { key: key.public(), nonce, request, session: caller.session.clone(), sig })
    }

    /// Checks the signature against the claimed caller. Returns the command.
    pub fn check(
        &self,
        project: &ProjectId,
        caller: &Principal,
    ) -> Result<Command, SignatureError> {
        let command = canonical(&self.request.name, self.request.args.get())?;
        let statement = Statement {
            caller,
            nonce: &self.nonce,
            project,
            request: &self.request,
            session: self.session.as_ref(),
        };
        let bytes = statement.bytes().map_err(|_| SignatureError::Request)?;
        let signature = data_encoding::BASE64.decode(self.sig.as_bytes()).ok();
        let signature: Option<[u8; 64]> = signature.and_then(|bytes| bytes.try_into().ok());
        match signature {
            Some(signature) if is_signed_by(&self.key, &bytes, &signature) => Ok(command),
            _ => Err(SignatureError::Invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_kernel::AgentName;

    #[test]
    fn a_request_is_bound_to_its_caller_project_and_content() {
        let key = SecretKey::from_seed(&[7; 32]);
        let alice = Principal::Agent(AgentName::new("alice").unwrap());
        let bob = Principal::Agent(AgentName::new("bob").unwrap());
        let caller = Caller { principal: alice.clone(), key: key.public(), session: None };
        let project = ProjectId::new("p").unwrap();
        let command = Command::read("lease.release", r#"{"lease":"l"}"#).unwrap().unwrap();
        let request = Request::of(&command).unwrap();
        let good = Signature::make(&key, &project, &caller, request, [3; 16]).unwrap();

        assert_eq!(good.check(&project, &alice), Ok(command));
        assert_eq!(good.check(&project, &bob), Err(SignatureError::Invalid));
        let elsewhere = ProjectId::new("q").unwrap();
        assert_eq!(good.check(&elsewhere, &alice), Err(SignatureError::Invalid));

        let text = serde_json::to_string(&good).unwrap();
        let altered = text.replace(r#""lease":"l""#, r#""lease":"m""#);
        let altered: Signature = serde_json::from_str(&altered).unwrap();
        assert_eq!(altered.check(&project, &alice), Err(SignatureError::Invalid));
        let spaced = text.replace(r#""lease":"l""#, r#""lease": "l""#);
        let spaced: Signature = serde_json::from_str(&spaced).unwrap();
        assert_eq!(spaced.check(&project, &alice), Err(SignatureError::Request));
        let in_session = Signature { session: Some(WorkspaceId::new("w").unwrap()), ..good };
        assert_eq!(in_session.check(&project, &alice), Err(SignatureError::Invalid));
    }
}
