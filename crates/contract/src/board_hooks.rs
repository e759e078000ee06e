//! Hooks of the board.

use lodge_domain::{
    Error, OsRandom,
    board::{DeliveryStatus, HOOKS_MAX, Hook, HookId, HookSecret, HookUrl, NewHook},
};

use crate::{BoardFixture, board::channel, samples::at};

async fn new(fixture: &BoardFixture) -> NewHook {
    NewHook {
        channel: channel(fixture).await,
        url: HookUrl::parse("https://example.org/hook?x=ä").unwrap(),
        secret: HookSecret::draw(&OsRandom),
        cursor: "7:42,9:3".parse().unwrap(),
        created_at: at(1),
    }
}

async fn find(fixture: &BoardFixture, id: HookId) -> Option<(Hook, HookSecret)> {
    fixture.hooks.list().await.unwrap().into_iter().find(|(hook, _)| hook.id == id)
}

/// A hook is listed with its secret until it is removed; its number is never reused.
pub async fn a_hook_is_kept_until_it_is_removed(fixture: &BoardFixture) {
    let (first, second) = (new(fixture).await, new(fixture).await);
    let hook = fixture.hooks.add(first.clone()).await.unwrap();
    assert_eq!((&hook.channel, &hook.url), (&first.channel, &first.url));
    assert_eq!((&hook.cursor, hook.created_at), (&first.cursor, at(1)));
    assert_eq!(hook.delivery, DeliveryStatus::Healthy);
    assert_eq!(find(fixture, hook.id).await, Some((hook.clone(), first.secret)));
    assert!(fixture.hooks.remove(hook.id).await.unwrap());
    assert_eq!(find(fixture, hook.id).await, None);
    assert!(!fixture.hooks.remove(hook.id).await.unwrap());
    let next = fixture.hooks.add(second).await.unwrap();
    assert!(next.id > hook.id, "{next:?} after {hook:?}");
    let all = fixture.hooks.list().await.unwrap();
    assert!(all.is_sorted_by_key(|(hook, _)| hook.id));
}

/// A successful delivery resets the status.
pub async fn the_status_of_a_hook_is_stored(fixture: &BoardFixture) {
    let hook = fixture.hooks.add(new(fixture).await).await.unwrap();
    let other = fixture.hooks.add(new(fixture).await).await.unwrap();
    let failing = DeliveryStatus::Failing {
        failures: 3,
        since: at(5),
        next_try: at(90),
        why: "it answered 500".to_owned(),
    };
    assert!(fixture.hooks.note(hook.id, failing.clone()).await.unwrap());
    let expected = Hook { delivery: failing, ..hook.clone() };
    assert_eq!(find(fixture, hook.id).await.unwrap().0, expected);

    let cursor = "7:43,9:3".parse().unwrap();
    assert!(fixture.hooks.advance(hook.id, cursor).await.unwrap());
    let expected = Hook { cursor: "7:43,9:3".parse().unwrap(), ..hook.clone() };
    assert_eq!(find(fixture, hook.id).await.unwrap().0, expected);
    assert_eq!(find(fixture, other.id).await.unwrap().0, other);
}

/// A late success does not enable it again.
pub async fn a_disabled_hook_stays_disabled(fixture: &BoardFixture) {
    let hook = fixture.hooks.add(new(fixture).await).await.unwrap();
    let disabled = DeliveryStatus::Disabled { at: at(7), why: "it answered 410".to_owned() };
    assert!(fixture.hooks.note(hook.id, disabled.clone()).await.unwrap());
    assert!(!fixture.hooks.advance(hook.id, "7:50".parse().unwrap()).await.unwrap());
    let expected = Hook { delivery: disabled, ..hook };
    assert_eq!(find(fixture, expected.id).await.unwrap().0, expected);
}

/// Updates of a removed hook change nothing.
pub async fn a_removed_hook_is_not_updated(fixture: &BoardFixture) {
    let hook = fixture.hooks.add(new(fixture).await).await.unwrap();
    assert!(fixture.hooks.remove(hook.id).await.unwrap());
    assert!(!fixture.hooks.advance(hook.id, hook.cursor.clone()).await.unwrap());
    let disabled = DeliveryStatus::Disabled { at: at(7), why: String::new() };
    assert!(!fixture.hooks.note(hook.id, disabled).await.unwrap());
    assert_eq!(find(fixture, hook.id).await, None);
}

/// At most [`HOOKS_MAX`] hooks can be added.
pub async fn the_number_of_hooks_is_limited(fixture: &BoardFixture) {
    let mut hooks = Vec::new();
    let refused = loop {
        match fixture.hooks.add(new(fixture).await).await {
            Ok(hook) => hooks.push(hook),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Conflict(_)), "{refused:?}");
    assert_eq!(fixture.hooks.list().await.unwrap().len(), HOOKS_MAX);
    // Make space for other tests that share the store.
    for hook in hooks {
        assert!(fixture.hooks.remove(hook.id).await.unwrap());
    }
}
