//! The agent of an event, and what proves that it is the one: docs/fields.md, "Agents".
//! `evaluation/agents/agent.py` has the definition.

use crate::event::Entries;
use crate::event::field::AgentPart;
use crate::event::user_agent::Claimed;
use crate::json::pointer_step;
use crate::value::address::Address;
use crate::value::error::EventError;

const MEMBERS: [&str; 6] =
    ["proof", "operator", "product", "purpose", "claims", "signature_problem"];
const PROOFS: [&str; 3] = ["signature", "range", "dns"];
const PURPOSES: [&str; 6] = ["search", "training", "user", "monitoring", "feed", "other"];
const DEFAULT_PURPOSE: &str = "other";

/// The agent of an event; the texts are empty if nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agent<'a> {
    operator: &'a str,
    product: &'a str,
    purpose: &'a str,
    proof: &'a str,
    claims: &'a str,
    signature_problem: &'a str,
    /// Whether the operator publishes the addresses from which the claimed agent comes, and the
    /// client's address is known.
    pub(crate) is_provable: bool,
}

impl<'a> Agent<'a> {
    /// The agent by a checked finding, the agent that the user agent names and the client.
    pub(crate) fn of(
        finding: Entries<'a>,
        claimed: Option<Claimed<'a>>,
        address: Option<Address>,
    ) -> Self {
        let own = |name| member(finding, name).unwrap_or_default();
        let ranges = claimed.and_then(|claimed| claimed.ranges);
        let unknown = Self {
            operator: "",
            product: "",
            purpose: "",
            proof: "none",
            claims: claimed.map_or_else(|| own("claims"), |claimed| &claimed.agent.family),
            signature_problem: own("signature_problem"),
            is_provable: ranges.is_some() && address.is_some(),
        };
        if let Some(proof) = member(finding, "proof") {
            let purpose = member(finding, "purpose").unwrap_or(DEFAULT_PURPOSE);
            let (operator, product) = (own("operator"), own("product"));
            return Self { operator, product, purpose, proof, ..unknown };
        }
        let Some(Claimed { agent, .. }) = claimed else {
            let proof = if unknown.claims.is_empty() { "none" } else { "name" };
            return Self { proof, ..unknown };
        };
        let is_in_range = ranges.zip(address).is_some_and(|(known, client)| known.contains(client));
        Self {
            operator: &agent.operator,
            product: &agent.family,
            purpose: &agent.purpose,
            proof: if is_in_range { "range" } else { "name" },
            ..unknown
        }
    }

    /// A part that is text.
    pub(crate) const fn text(&self, part: AgentPart) -> &'a str {
        match part {
            AgentPart::Operator => self.operator,
            AgentPart::Product => self.product,
            AgentPart::Purpose => self.purpose,
            AgentPart::Proof => self.proof,
            AgentPart::Claims => self.claims,
            AgentPart::SignatureProblem => self.signature_problem,
            AgentPart::IsProvable => "",
        }
    }
}

fn member<'a>(finding: Entries<'a>, name: &str) -> Option<&'a str> {
    finding.iter().find(|(each, _)| *each == name).map(|(_, text)| *text)
}

/// Rejects a finding that can't be used.
pub(crate) fn check_finding(finding: Entries<'_>) -> Result<(), EventError> {
    if let Some((name, _)) = finding.iter().find(|(name, _)| !MEMBERS.contains(name)) {
        let known = MEMBERS.join("`, `");
        return refused(format!("`agent` has no such member; its members are `{known}`"), name);
    }
    let proof = member(finding, "proof");
    if proof.is_some_and(|proof| !PROOFS.contains(&proof)) {
        return refused(format!("must be one of `{}`", PROOFS.join("`, `")), "proof");
    }
    if member(finding, "purpose").is_some_and(|purpose| !PURPOSES.contains(&purpose)) {
        return refused(format!("must be one of `{}`", PURPOSES.join("`, `")), "purpose");
    }
    if proof.is_some() && member(finding, "product").unwrap_or_default().is_empty() {
        return refused("an agent with a proof has a name".to_owned(), "product");
    }
    Ok(())
}

#[cold]
fn refused(message: String, member: &str) -> Result<(), EventError> {
    let pointer = format!("/agent{}", pointer_step(member));
    Err(EventError { message, pointer, offset: None, is_unreadable: false })
}
