//! `docs/wire.md` matches the code.

use std::collections::BTreeSet;

use lodge_domain::accounts::{AccountEventKind, Call, ModerationCommand, OwnAccountCall, Reply};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, from_str, from_value, to_value};

use crate::samples::{DOCUMENT, table};

#[test]
fn the_document_shows_each_call_and_each_reply_with_all_of_its_fields() {
    shows_all_of::<Call>("### Calls");
    shows_all_of::<OwnAccountCall>("### Calls about the own account");
    shows_all_of::<ModerationCommand>("### Moderation commands");
    shows_all_of::<Reply>("### Replies");
}

#[test]
fn the_document_names_every_kind_of_account_event() {
    for kind in AccountEventKind::ALL {
        assert!(DOCUMENT.contains(&format!("`{}`", kind.name())), "{kind:?}");
    }
}

fn shows_all_of<T: Serialize + DeserializeOwned>(heading: &str) {
    let shown = table(heading).into_iter().map(|shown| {
        let read = from_value::<T>(shown.clone()).and_then(to_value);
        assert_eq!(read.map_err(|error| error.to_string()), Ok(shown.clone()), "all of its fields");
        name(&shown)
    });
    assert_eq!(shown.collect::<BTreeSet<_>>(), names::<T>(), "{heading}");
}

/// Returns the kind of a call or a reply.
fn name(shown: &Value) -> String {
    let name = shown.as_str().or_else(|| shown.as_object()?.keys().next().map(String::as_str));
    name.unwrap().to_owned()
}

/// All kinds, as the error for an unknown kind lists them.
fn names<T: DeserializeOwned>() -> BTreeSet<String> {
    let error = from_str::<T>("\"\"").err().unwrap().to_string();
    let (_, known) = error.split_once("expected one of").unwrap();
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
