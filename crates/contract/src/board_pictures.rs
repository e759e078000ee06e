//! Pictures in messages.

use lodge_domain::{
    Error, OsRandom, Random,
    accounts::{AccountId, PictureId, Role},
    board::{
        Action, BoardEventContent, Body, EventId, NewMessage, PersonId, Posted, Slug, Visibility,
    },
};

use crate::{
    BoardFixture,
    board::{apply, channel, message, new_actor, post, slow_down},
    samples::at,
};

/// A picture id that no other test uses.
fn picture() -> PictureId {
    let mut bytes = [0; 32];
    OsRandom.fill(&mut bytes);
    PictureId::stored(bytes)
}

fn with(channel: &Slug, text: &str, picture: PictureId) -> NewMessage {
    let body = Body::parse_with_picture(text).unwrap();
    NewMessage { body, picture: Some(picture), ..message(channel, "x") }
}

/// A dry run returns `None` for a new message, the original event of a repetition, and the error of a refusal.
pub async fn a_dry_run_returns_what_a_post_would(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let dry_run = async |new: &NewMessage, seconds| {
        fixture.log.dry_run(new.clone(), by.clone(), at(seconds)).await
    };
    let new = message(&channel, "first");
    assert_eq!(dry_run(&new, 1).await.unwrap(), None);
    assert_eq!(dry_run(&new, 1).await.unwrap(), None, "the first dry run stored nothing");
    let event = post(fixture, &new, &by, at(1)).await;
    assert_eq!(dry_run(&new, 1).await.unwrap().as_ref(), Some(&event));
    let other = NewMessage { body: Body::parse("second").unwrap(), ..new.clone() };
    assert!(matches!(dry_run(&other, 1).await, Err(Error::KeyReused)));

    let nowhere = message(&Slug::parse("no-such-channel").unwrap(), "x");
    assert!(matches!(dry_run(&nowhere, 1).await, Err(Error::NotFound(_))));
    let nothing = EventId { seq: 99, ..event.id };
    let answer = NewMessage { reply_to: Some(nothing), ..message(&channel, "x") };
    assert!(matches!(dry_run(&answer, 1).await, Err(Error::NotFound(_))));

    slow_down(fixture, &channel, 60).await;
    let next = message(&channel, "next");
    fixture.log.post(next, by.clone(), at(2)).await.unwrap();
    let refused = dry_run(&message(&channel, "too soon"), 30).await;
    assert!(matches!(refused, Err(Error::TooMany { .. })), "{refused:?}");
    assert_eq!(dry_run(&message(&channel, "later"), 90).await.unwrap(), None);
    assert!(dry_run(&new, 30).await.unwrap().is_some(), "a repetition does not wait");
    fixture.people.ban(by.id(), Some(at(3))).await.unwrap();
    assert!(matches!(dry_run(&message(&channel, "x"), 90).await, Err(Error::Forbidden(_))));
}

/// Also while the message is hidden; the deletion returns the picture.
pub async fn a_picture_belongs_to_its_message_until_deletion(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let staff = new_actor(Role::Moderator);
    let (kept, unused) = (picture(), picture());
    let event = post(fixture, &with(&channel, "look", kept), &by, at(1)).await;
    let former = async |action, by| {
        apply(fixture, &channel, event.id, action, by).await.unwrap().unwrap().detached_picture
    };
    let pictured = async || fixture.pictures.assigned(vec![unused, kept]).await.unwrap();
    let visibility = async || fixture.pictures.visibility(kept).await.unwrap();
    assert_eq!((pictured().await, visibility().await), (vec![kept], Some(Visibility::Shown)));
    assert_eq!(fixture.pictures.visibility(unused).await.unwrap(), None);
    let edited = Action::Edit(Body::parse("look here").unwrap());
    assert_eq!(former(edited, &by).await, None);
    assert_eq!(former(Action::Hide(true), &staff).await, None);
    assert_eq!((pictured().await, visibility().await), (vec![kept], Some(Visibility::Hidden)));
    assert_eq!(former(Action::Delete, &by).await, Some(kept));
    assert_eq!((pictured().await, visibility().await), (vec![], None));
}

/// A repetition without text returns the original; one with text is another message and is refused.
pub async fn a_picture_alone_and_a_picture_with_text_are_two_messages(fixture: &BoardFixture) {
    let (channel, by) = (channel(fixture).await, new_actor(Role::Member));
    let first = picture();
    let new = with(&channel, "", first);
    let event = post(fixture, &new, &by, at(1)).await;
    let again = NewMessage { picture: Some(picture()), ..new.clone() };
    let again = fixture.log.post(again, by.clone(), at(1)).await.unwrap();
    assert_eq!(again, Posted::Repeated(event.clone()));
    let BoardEventContent::Message { body, picture, .. } = &event.content else {
        panic!("{event:?}")
    };
    assert!(body.as_ref().is_some_and(Body::is_empty) && *picture == Some(first));
    let words = NewMessage { body: Body::parse("words").unwrap(), ..new };
    let refused = fixture.log.post(words, by, at(1)).await;
    assert!(matches!(refused, Err(Error::KeyReused)), "{refused:?}");
}

/// Pictures are detached in batches; the messages stay.
pub async fn a_deletion_detaches_only_pictures_of_that_account(fixture: &BoardFixture) {
    let channel = channel(fixture).await;
    let (author, other) = (new_actor(Role::Member), new_actor(Role::Member));
    let (mut theirs, stays) = ([picture(), picture(), picture()], picture());
    let mut posted = Vec::new();
    for picture in theirs {
        posted.push(post(fixture, &with(&channel, "bye", picture), &author, at(1)).await);
    }
    post(fixture, &with(&channel, "hi", stays), &other, at(1)).await;
    let PersonId::Account(former) = author.id() else { panic!("{author:?}") };
    let mut taken = Vec::new();
    for count in [2, 1, 0] {
        let some = fixture.pictures.take_from(former, 2).await.unwrap();
        assert_eq!(some.len(), count);
        taken.extend(some);
    }
    taken.sort_unstable_by_key(|picture| *picture.bytes());
    theirs.sort_unstable_by_key(|picture| *picture.bytes());
    assert_eq!(taken, theirs);
    let asked = theirs.into_iter().chain([stays]).collect();
    assert_eq!(fixture.pictures.assigned(asked).await.unwrap(), [stays]);
    let (id, reader) = (posted[0].id, other);
    let message = fixture.log.message(channel, id, reader).await.unwrap().unwrap();
    assert_eq!((message.body, message.picture), (Some(Body::parse("bye").unwrap()), None));
    assert_eq!(fixture.pictures.take_from(AccountId(i64::MAX), 2).await.unwrap(), []);
}
