//! Who is in a channel now.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::{PersonId, Profile};

/// How long somebody is here after their last sign of life: longer than it takes to load a page again.
pub const PRESENCE_TTL: SignedDuration = SignedDuration::from_secs(30);

/// People whom a channel shows; further ones read and write as well.
const PEOPLE_MAX: usize = 10_000;

/// Who is in one channel. Somebody is here while a stream of theirs is open, and for [`PRESENCE_TTL`] after their
/// last sign of life, however many pages they have open.
#[derive(Debug)]
pub struct Presence {
    people: HashMap<PersonId, Here>,
    /// Until then whoever comes may have been here before the server was started.
    settled_at: Timestamp,
}

#[derive(Debug)]
struct Here {
    profile: Profile,
    streams: usize,
    seen_at: Timestamp,
}

impl Here {
    fn has_gone(&self, now: Timestamp) -> bool {
        self.streams == 0 && now.duration_since(self.seen_at) >= PRESENCE_TTL
    }
}

impl Presence {
    /// Nobody, in a server that was started then.
    pub fn since(started_at: Timestamp) -> Self {
        let settled_at = started_at.saturating_add(PRESENCE_TTL).unwrap_or(Timestamp::MAX);
        Self { people: HashMap::new(), settled_at }
    }

    /// Whether the server was started so long ago that whoever comes is new.
    pub fn is_settled(&self, now: Timestamp) -> bool {
        now >= self.settled_at
    }

    /// Somebody gives a sign of life; whether that is to be announced.
    pub fn seen(&mut self, profile: &Profile, now: Timestamp) -> bool {
        if let Some(here) = self.people.get_mut(&profile.person) {
            here.seen_at = here.seen_at.max(now);
            here.profile.clone_from(profile);
            // Even if they had gone: nobody was told of it.
            return false;
        }
        if self.people.len() >= PEOPLE_MAX {
            self.sweep(now);
        }
        if self.people.len() >= PEOPLE_MAX {
            return false;
        }
        let here = Here { profile: profile.clone(), streams: 0, seen_at: now };
        self.people.insert(profile.person, here);
        self.is_settled(now)
    }

    /// A stream of somebody's begins; whether that is to be announced.
    pub fn enter(&mut self, profile: &Profile, now: Timestamp) -> bool {
        let comes = self.seen(profile, now);
        if let Some(here) = self.people.get_mut(&profile.person) {
            here.streams += 1;
        }
        comes
    }

    /// A stream of somebody's has ended; they may come back at once.
    pub fn leave(&mut self, person: PersonId, now: Timestamp) {
        if let Some(here) = self.people.get_mut(&person) {
            here.streams = here.streams.saturating_sub(1);
            here.seen_at = here.seen_at.max(now);
        }
    }

    /// A stream has ended because its reader may not be here any more; who has left, if it was their last.
    pub fn sign_out(&mut self, person: PersonId, now: Timestamp) -> Option<Profile> {
        self.leave(person, now);
        if self.people.get(&person).is_some_and(|here| here.streams > 0) {
            return None;
        }
        self.people.remove(&person).map(|here| here.profile)
    }

    /// Somebody is called otherwise.
    pub fn rename(&mut self, profile: &Profile) {
        if let Some(here) = self.people.get_mut(&profile.person) {
            here.profile.clone_from(profile);
        }
    }

    /// Somebody is nobody any more; who has left, if they were here.
    pub fn forget(&mut self, person: PersonId) -> Option<Profile> {
        self.people.remove(&person).map(|here| here.profile)
    }

    /// Lets go of those who have not come back in time; who they are.
    pub fn sweep(&mut self, now: Timestamp) -> Vec<Profile> {
        let gone = self.people.extract_if(|_, here| here.has_gone(now));
        gone.map(|(_, here)| here.profile).collect()
    }

    /// Who is here, by what they are called.
    pub fn here(&self, now: Timestamp) -> Vec<Profile> {
        let here = self.people.values().filter(|here| !here.has_gone(now));
        let mut here: Vec<_> = here.map(|here| here.profile.clone()).collect();
        here.sort_by_cached_key(|who| (who.nickname.to_lowercase(), who.username.clone()));
        here
    }

    /// How many are here, or may come back.
    pub fn len(&self) -> usize {
        self.people.len()
    }

    /// Whether nobody is here or may come back.
    pub fn is_empty(&self) -> bool {
        self.people.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{Clock, clock::ManualClock};

    fn person(number: i64) -> Profile {
        Profile::of_member(number)
    }

    fn clock() -> ManualClock {
        ManualClock::at(Timestamp::from_second(1_000_000).unwrap())
    }

    /// A channel of a server that was started long ago.
    fn settled(clock: &ManualClock) -> Presence {
        let presence = Presence::since(clock.now());
        clock.advance_seconds(PRESENCE_TTL.as_secs());
        presence
    }

    #[test]
    fn somebody_with_several_streams_is_one_and_comes_once() {
        let clock = clock();
        let mut presence = settled(&clock);
        let (ada, now) = (person(1), clock.now());
        assert!(presence.enter(&ada, now));
        assert!(!presence.enter(&ada, now) && !presence.seen(&ada, now));
        assert_eq!(presence.here(now), std::slice::from_ref(&ada));
        presence.leave(ada.person, now);
        clock.advance_seconds(3_600);
        assert_eq!(presence.sweep(clock.now()), []);
        assert_eq!(presence.here(clock.now()), [ada], "the other stream is open");
    }

    #[test]
    fn a_reload_announces_nothing_and_going_for_good_is_told_in_time() {
        let clock = clock();
        let mut presence = settled(&clock);
        let ada = person(1);
        presence.enter(&ada, clock.now());
        presence.leave(ada.person, clock.now());
        clock.advance_seconds(PRESENCE_TTL.as_secs() - 1);
        assert_eq!(presence.sweep(clock.now()), []);
        assert!(!presence.enter(&ada, clock.now()), "they were here all the time");
        presence.leave(ada.person, clock.now());
        clock.advance_seconds(PRESENCE_TTL.as_secs());
        assert!(presence.here(clock.now()).is_empty());
        assert_eq!(presence.sweep(clock.now()), std::slice::from_ref(&ada));
        assert!(presence.is_empty() && presence.enter(&ada, clock.now()));
    }

    #[test]
    fn whoever_signs_out_leaves_at_once_but_not_from_another_device() {
        let clock = clock();
        let mut presence = settled(&clock);
        let (ada, now) = (person(1), clock.now());
        presence.enter(&ada, now);
        presence.enter(&ada, now);
        assert_eq!(presence.sign_out(ada.person, now), None);
        assert_eq!(presence.sign_out(ada.person, now), Some(ada.clone()));
        assert_eq!(presence.sign_out(ada.person, now), None);
    }

    #[test]
    fn after_a_restart_those_who_come_back_are_not_announced() {
        let clock = clock();
        let mut presence = Presence::since(clock.now());
        clock.advance_seconds(PRESENCE_TTL.as_secs() - 1);
        assert!(!presence.enter(&person(1), clock.now()));
        clock.advance_seconds(1);
        assert!(presence.enter(&person(2), clock.now()));
    }

    #[test]
    fn a_new_name_is_shown_of_whoever_is_here() {
        let clock = clock();
        let mut presence = settled(&clock);
        presence.enter(&person(1), clock.now());
        let renamed = Profile { nickname: "Countess".to_owned(), ..person(1) };
        presence.rename(&renamed);
        presence.rename(&person(2));
        assert_eq!(presence.here(clock.now()), [renamed]);
    }

    #[test]
    fn a_channel_shows_so_many_people_and_forgets_who_has_gone_first() {
        let clock = clock();
        let mut presence = settled(&clock);
        for number in 0..PEOPLE_MAX {
            presence.seen(&person(i64::try_from(number).unwrap()), clock.now());
        }
        assert!(!presence.enter(&person(-7), clock.now()));
        presence.leave(person(-7).person, clock.now());
        assert_eq!(presence.here(clock.now()).len(), PEOPLE_MAX);
        clock.advance_seconds(PRESENCE_TTL.as_secs());
        assert!(presence.enter(&person(-7), clock.now()));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Enter(i64),
        Leave(i64),
        SignOut(i64),
        Seen(i64),
        Wait(i64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0_i64..3).prop_map(Step::Enter),
            (0_i64..3).prop_map(Step::Leave),
            (0_i64..3).prop_map(Step::SignOut),
            (0_i64..3).prop_map(Step::Seen),
            (0_i64..40).prop_map(Step::Wait),
        ]
    }

    proptest! {
        /// Whatever happens, whoever hears what is announced knows who is here; a sweep follows each step.
        #[test]
        fn what_is_announced_adds_up_to_who_is_here(steps in vec(step(), 0..60)) {
            let clock = clock();
            let mut presence = settled(&clock);
            let (mut told, mut open) = (BTreeSet::new(), HashMap::<i64, usize>::new());
            for step in steps {
                match step {
                    Step::Enter(number) | Step::Seen(number) => {
                        let is_stream = matches!(step, Step::Enter(_));
                        let comes = if is_stream {
                            *open.entry(number).or_default() += 1;
                            presence.enter(&person(number), clock.now())
                        } else {
                            presence.seen(&person(number), clock.now())
                        };
                        if comes {
                            prop_assert!(told.insert(number), "announced twice");
                        }
                    }
                    Step::Leave(number) | Step::SignOut(number) => {
                        let streams = open.entry(number).or_default();
                        if *streams == 0 { continue }
                        *streams -= 1;
                        if matches!(step, Step::Leave(_)) {
                            presence.leave(person(number).person, clock.now());
                        } else if presence.sign_out(person(number).person, clock.now()).is_some() {
                            prop_assert!(told.remove(&number));
                        }
                    }
                    Step::Wait(seconds) => clock.advance_seconds(seconds),
                }
                for gone in presence.sweep(clock.now()) {
                    let number = gone.person.number();
                    prop_assert!(told.remove(&number) && open.get(&number).is_none_or(|open| *open == 0));
                }
                let here: Vec<_> = told.iter().map(|number| person(*number)).collect();
                prop_assert_eq!(presence.here(clock.now()), here);
            }
        }
    }
}
