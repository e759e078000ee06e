//! Gates.

use lodge_domain::{
    Error,
    rides::{GateId, GateStore, ResortId},
    secret::token_digest,
};

use crate::samples::{at, fresh};

/// A gate belongs to one resort or to all; numbers start at 1, because 0 means that a request has no gate token.
pub async fn a_gate_is_found_by_its_token(fixture: &impl AsRef<dyn GateStore>) {
    let gates = fixture.as_ref();
    let mut last = GateId::ANONYMOUS;
    for resort in [None, Some(ResortId(3))] {
        let name = fresh("gate").to_string();
        let digest = token_digest(&name);
        assert_eq!(gates.find(digest).await.unwrap(), None);
        let gate = gates.add(&name, resort, digest, at(1)).await.unwrap();
        assert_eq!((gate.name.as_str(), gate.resort), (name.as_str(), resort));
        assert_eq!((gate.created_at, gate.revoked_at), (at(1), None));
        assert!(gate.id > last, "{gate:?}");
        last = gate.id;
        for _ in 0..2 {
            assert_eq!(gates.find(digest).await.unwrap(), Some(gate.clone()));
        }
        assert_eq!(gates.find(token_digest("another")).await.unwrap(), None);
        assert!(gates.list().await.unwrap().contains(&gate));
    }
}

/// A second gate with the same name is refused and changes nothing.
pub async fn a_gates_name_is_given_once(fixture: &impl AsRef<dyn GateStore>) {
    let gates = fixture.as_ref();
    let name = fresh("gate").to_string();
    let (first, second) = (token_digest(&format!("{name} a")), token_digest(&format!("{name} b")));
    let gate = gates.add(&name, None, first, at(1)).await.unwrap();
    let again = gates.add(&name, Some(ResortId(2)), second, at(2)).await;
    assert!(matches!(again, Err(Error::Conflict(_))));
    assert_eq!(gates.find(first).await.unwrap(), Some(gate));
    assert_eq!(gates.find(second).await.unwrap(), None);
}

/// The revocation takes effect at once, and lasts until the gate's token is renewed.
pub async fn a_revoked_gate_stays_revoked(fixture: &impl AsRef<dyn GateStore>) {
    let gates = fixture.as_ref();
    let name = fresh("gate").to_string();
    let digest = token_digest(&name);
    let gate = gates.add(&name, None, digest, at(1)).await.unwrap();
    assert_eq!(gates.find(digest).await.unwrap(), Some(gate.clone()));
    let revoked = gates.revoke(&name, at(5)).await.unwrap().unwrap();
    assert_eq!((revoked.id, revoked.revoked_at), (gate.id, Some(at(5))));
    for _ in 0..2 {
        assert_eq!(gates.find(digest).await.unwrap(), Some(revoked.clone()));
        assert_eq!(gates.revoke(&name, at(9)).await.unwrap(), Some(revoked.clone()));
    }
    assert_eq!(gates.revoke(fresh("absent").as_str(), at(9)).await.unwrap(), None);
    let again = gates.add(&name, None, token_digest("anew"), at(10)).await;
    assert!(matches!(again, Err(Error::Conflict(_))));
}

/// Renewal lifts a revocation and keeps number and resort; the old token is invalid at once.
pub async fn a_renewed_gate_is_found_by_its_new_token_alone(fixture: &impl AsRef<dyn GateStore>) {
    let gates = fixture.as_ref();
    let name = fresh("gate").to_string();
    let [first, second, third] =
        ["a", "b", "c"].map(|token| token_digest(&format!("{name} {token}")));
    let gate = gates.add(&name, Some(ResortId(3)), first, at(1)).await.unwrap();
    for (old, new, revoke) in [(first, second, false), (second, third, true)] {
        assert_eq!(gates.find(old).await.unwrap(), Some(gate.clone()));
        if revoke {
            gates.revoke(&name, at(5)).await.unwrap();
        }
        assert_eq!(gates.renew(&name, new).await.unwrap(), Some(gate.clone()));
        for _ in 0..2 {
            assert_eq!(gates.find(new).await.unwrap(), Some(gate.clone()));
            assert_eq!(gates.find(old).await.unwrap(), None);
        }
    }
    let absent = gates.renew(fresh("absent").as_str(), token_digest("anew")).await;
    assert_eq!(absent.unwrap(), None);
}
