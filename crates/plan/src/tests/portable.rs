//! Plans that go to other machines.

use super::round_trip::plans;
use crate::*;
use proptest::prelude::*;
use serde::Serialize;
use std::sync::Arc;

/// Fills in any plan's secrets and rows.
fn filled(mut plan: Plan) -> Option<Plan> {
    let rows = |name: &str| match name {
        name if name.ends_with(".csv") => Ok("id,c d,first name\n1,geheim-row,Zoë\n2,,x\n".to_owned()),
        name if name.ends_with("jsonl") => Ok("{\"id\": 1, \"first name\": \"geheim-row\"}\n".to_owned()),
        _ => Ok("geheim-file\n".to_owned()),
    };
    plan.bind(rows, |name| Ok(format!("geheim-{name}"))).ok()?;
    Some(plan)
}

fn packed(parcel: &PortablePlan) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut to = rmp_serde::Serializer::new(&mut bytes).with_struct_map();
    parcel.serialize(&mut to).expect("it is for machines");
    bytes
}

/// Building an arbitrary plan unoptimised takes nearly all of the 2 MiB of a test thread's stack.
#[test]
fn a_plan_arrives_with_its_secrets_and_rows() {
    let roomy = std::thread::Builder::new().stack_size(16 << 20).spawn(|| {
        let secrets = std::cell::Cell::new(0);
        proptest!(|(plan in plans(), authorities in prop::option::of(any::<Vec<u8>>()))| {
            let plan = filled(plan.clone()).unwrap_or(plan);
            secrets.set(secrets.get() + usize::from(!plan.redactor().is_empty()));
            let parcel = PortablePlan { plan, authorities };
            let back: PortablePlan = rmp_serde::from_slice(&packed(&parcel)).expect("it is whole");
            prop_assert!(back == parcel, "{:#?}\n{:#?}", back.plan, parcel.plan);
            let shown = format!("{parcel:?}");
            prop_assert!(!shown.contains("geheim"));
        });
        assert!(secrets.get() > 20, "only {} plans had secrets: the test has lost its sight", secrets.get());
    });
    let ended = roomy.expect("there is room for a thread").join();
    ended.unwrap_or_else(|why| std::panic::resume_unwind(why));
}

fn secret() -> Plan {
    let text = "load.rate = 1\ntarget = { url = 'http://me:geheim@h/{users.id}/{users.id}', bearer = '{env:T}' }\n\
                data.users.file = 'users.csv'\nrequest.body = '{users.id}'";
    let text = text.replace("me:geheim@", "");
    let plan = super::plan(PlanCommand::Run, &text).unwrap_or_else(|e| panic!("{e}"));
    filled(plan).expect("all is there")
}

#[test]
fn people_read_none() {
    let parcel = PortablePlan { plan: secret(), authorities: None };
    let why = serde_json::to_string(&parcel).expect_err("JSON is for people").to_string();
    assert!(why.contains("with its secrets"), "{why}");
    // Nor does a plan alone contain any secret, in whatever format.
    let json = serde_json::to_string(&parcel.plan).expect("it is a plan");
    let bytes = rmp_serde::to_vec_named(&parcel.plan).expect("it is a plan");
    for (text, form) in [(json, "JSON"), (String::from_utf8_lossy(&bytes).into_owned(), "MessagePack")] {
        assert!(!text.contains("geheim") && text.contains("users"), "{form}: {text}");
    }
    let whole = packed(&parcel);
    assert!(String::from_utf8_lossy(&whole).contains("geheim-T"));
}

/// For each column in use, the index of the first equal one.
fn shared(plan: &mut Plan) -> Vec<usize> {
    let mut columns = Vec::new();
    for template in plan.templates_mut() {
        template.visit_mut(&mut |piece| {
            if let TemplatePiece::Field { values, .. } = piece {
                columns.push(Arc::clone(values));
            }
        });
    }
    let first = |column| columns.iter().position(|other| Arc::ptr_eq(other, column)).expect("it is there");
    columns.iter().map(first).collect()
}

/// Equal rows are sent once, and held once on arrival.
#[test]
fn a_column_is_there_once() {
    let mut parcel = PortablePlan { plan: secret(), authorities: None };
    let mut back: PortablePlan = rmp_serde::from_slice(&packed(&parcel)).expect("it is whole");
    let columns = shared(&mut back.plan);
    assert_eq!(columns, shared(&mut parcel.plan));
    // Twice in the path, once in the body with another escaping.
    assert_eq!(columns, [0, 0, 2]);
}

#[test]
fn what_lacks_something_is_refused() {
    let bytes = packed(&PortablePlan { plan: secret(), authorities: None });
    for end in 0..bytes.len() {
        assert!(rmp_serde::from_slice::<PortablePlan>(&bytes[..end]).is_err(), "{end} of {}", bytes.len());
    }
    #[derive(Serialize)]
    struct IncompletePlan {
        plan: Plan,
        secrets: [u8; 0],
        fields: Vec<usize>,
        columns: Vec<Vec<String>>,
        authorities: Option<()>,
    }
    let lacking = IncompletePlan {
        plan: secret(),
        secrets: [],
        fields: vec![0; 2],
        columns: vec![Vec::new()],
        authorities: None,
    };
    let bytes = rmp_serde::to_vec_named(&lacking).expect("it can be written");
    let why = rmp_serde::from_slice::<PortablePlan>(&bytes).expect_err("its secret is not there").to_string();
    assert!(why.contains("without what belongs to it"), "{why}");
}
