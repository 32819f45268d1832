//! A plan for another machine, with what must not be stored.

use crate::{Plan, SecretValue, TemplatePiece};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::ByteBuf;
use std::fmt;
use std::sync::Arc;

/// A plan after [`Plan::bind`] with everything it needs elsewhere: secrets, rows, and trusted authorities.
///
/// A serialised [`Plan`] lacks secrets and rows. This type has them, and so has no human-readable form: neither a
/// store nor a log can take it by mistake.
#[derive(Clone, PartialEq)]
pub struct PortablePlan {
    /// The plan.
    pub plan: Plan,
    /// Certificates of authorities, in PEM, that the sender trusts beside those built into torment. None: those that
    /// the other machine names.
    pub authorities: Option<Vec<u8>>,
}

impl PortablePlan {
    /// `authorities` are those that the sender trusts.
    pub fn new(plan: &Plan, authorities: Option<&[u8]>) -> Self {
        Self { plan: plan.clone(), authorities: authorities.map(<[u8]>::to_vec) }
    }
}

impl fmt::Debug for PortablePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortablePlan").finish_non_exhaustive()
    }
}

/// The wire form: secrets and columns are beside the plan, in the order in which its templates are visited.
#[derive(Serialize, Deserialize)]
struct PackedPlan {
    plan: Plan,
    secrets: Vec<ByteBuf>,
    /// Index of the column of each placeholder.
    fields: Vec<usize>,
    /// Each once, however many placeholders use it.
    columns: Vec<Vec<String>>,
    authorities: Option<ByteBuf>,
}

impl Serialize for PortablePlan {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            return Err(serde::ser::Error::custom(
                "a plan with its secrets is not written where people read",
            ));
        }
        let (mut secrets, mut fields, mut shared) = (Vec::new(), Vec::new(), Vec::<Arc<[String]>>::new());
        self.plan.visit(|piece| match piece {
            TemplatePiece::Secret { value, .. } => secrets.push(ByteBuf::from(value.bytes())),
            TemplatePiece::Field { values, .. } => {
                let known = shared.iter().position(|column| Arc::ptr_eq(column, values));
                fields.push(known.unwrap_or(shared.len()));
                if known.is_none() {
                    shared.push(Arc::clone(values));
                }
            }
            _ => {}
        });
        let columns = shared.iter().map(|column| column.to_vec()).collect();
        let authorities = self.authorities.clone().map(ByteBuf::from);
        PackedPlan { plan: self.plan.clone(), secrets, fields, columns, authorities }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for PortablePlan {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let PackedPlan { mut plan, secrets, fields, columns, authorities } = PackedPlan::deserialize(from)?;
        let (mut secrets, mut fields) = (secrets.into_iter(), fields.into_iter());
        let columns: Vec<Arc<[String]>> = columns.into_iter().map(Arc::from).collect();
        let mut is_complete = true;
        for template in plan.templates_mut() {
            template.visit_mut(&mut |piece| match piece {
                TemplatePiece::Secret { value, .. } => match secrets.next() {
                    Some(secret) => *value = SecretValue::new(secret.into_vec()),
                    None => is_complete = false,
                },
                TemplatePiece::Field { values, .. } => {
                    match fields.next().and_then(|number| columns.get(number)) {
                        Some(column) => *values = Arc::clone(column),
                        None => is_complete = false,
                    }
                }
                _ => {}
            });
        }
        if !is_complete || secrets.next().is_some() || fields.next().is_some() {
            return Err(serde::de::Error::custom("a plan without what belongs to it"));
        }
        Ok(Self { plan, authorities: authorities.map(ByteBuf::into_vec) })
    }
}
