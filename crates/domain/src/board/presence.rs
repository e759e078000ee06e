//! The members who are present in a channel.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::{PersonId, Profile};

/// How long a member stays present after the last sign of activity: longer than a page reload takes.
pub const PRESENCE_TTL: SignedDuration = SignedDuration::from_secs(30);

/// The most members that a channel shows; further ones can read and write, too.
const PEOPLE_MAX: usize = 10_000;

/// The members who are present in one channel. A member is present while any of their streams is open, and for
/// [`PRESENCE_TTL`] after their last activity.
#[derive(Debug)]
pub struct Presence {
    people: HashMap<PersonId, PresentMember>,
    /// Until this time an arriving member may have been present before the server was started.
    settled_at: Timestamp,
}

#[derive(Debug)]
struct PresentMember {
    profile: Profile,
    streams: usize,
    last_active_at: Timestamp,
}

impl PresentMember {
    fn has_gone(&self, now: Timestamp) -> bool {
        self.streams == 0 && now.duration_since(self.last_active_at) >= PRESENCE_TTL
    }
}

impl Presence {
    /// An empty channel of a server that was started at `started_at`.
    pub fn since(started_at: Timestamp) -> Self {
        let settled_at = started_at.saturating_add(PRESENCE_TTL).unwrap_or(Timestamp::MAX);
        Self { people: HashMap::new(), settled_at }
    }

    /// Whether the server has run for [`PRESENCE_TTL`], so that arriving members are new.
    pub fn is_settled(&self, now: Timestamp) -> bool {
        now >= self.settled_at
    }

    /// Records activity of a member; returns whether to announce their arrival.
    pub fn record_activity(&mut self, profile: &Profile, now: Timestamp) -> bool {
        if let Some(here) = self.people.get_mut(&profile.person) {
            here.last_active_at = here.last_active_at.max(now);
            here.profile.clone_from(profile);
            // Even if they had expired: their leaving was not announced.
            return false;
        }
        if self.people.len() >= PEOPLE_MAX {
            self.sweep(now);
        }
        if self.people.len() >= PEOPLE_MAX {
            return false;
        }
        let here = PresentMember { profile: profile.clone(), streams: 0, last_active_at: now };
        self.people.insert(profile.person, here);
        self.is_settled(now)
    }

    /// Records the start of a member's stream; returns whether to announce their arrival.
    pub fn enter(&mut self, profile: &Profile, now: Timestamp) -> bool {
        let comes = self.record_activity(profile, now);
        if let Some(here) = self.people.get_mut(&profile.person) {
            here.streams += 1;
        }
        comes
    }

    /// Records the end of a stream; the member may reconnect at once.
    pub fn leave(&mut self, person: PersonId, now: Timestamp) {
        if let Some(here) = self.people.get_mut(&person) {
            here.streams = here.streams.saturating_sub(1);
            here.last_active_at = here.last_active_at.max(now);
        }
    }

    /// Ends a stream whose member lost access; returns the member who left, if it was their last stream.
    pub fn sign_out(&mut self, person: PersonId, now: Timestamp) -> Option<Profile> {
        self.leave(person, now);
        if self.people.get(&person).is_some_and(|here| here.streams > 0) {
            return None;
        }
        self.people.remove(&person).map(|here| here.profile)
    }

    /// Updates the profile of a present member.
    pub fn rename(&mut self, profile: &Profile) {
        if let Some(here) = self.people.get_mut(&profile.person) {
            here.profile.clone_from(profile);
        }
    }

    /// Removes a member; returns their profile if they were present.
    pub fn forget(&mut self, person: PersonId) -> Option<Profile> {
        self.people.remove(&person).map(|here| here.profile)
    }

    /// Removes the members who did not come back in time, and returns them.
    pub fn sweep(&mut self, now: Timestamp) -> Vec<Profile> {
        let gone = self.people.extract_if(|_, here| here.has_gone(now));
        gone.map(|(_, here)| here.profile).collect()
    }

    /// Returns the present members, sorted by nickname.
    pub fn members(&self, now: Timestamp) -> Vec<Profile> {
        let here = self.people.values().filter(|here| !here.has_gone(now));
        let mut here: Vec<_> = here.map(|here| here.profile.clone()).collect();
        here.sort_by_cached_key(|who| (who.nickname.to_lowercase(), who.username.clone()));
        here
    }

    /// The number of members who are present or were not yet swept.
    pub fn len(&self) -> usize {
        self.people.len()
    }

    /// Whether no member is present or waits to be swept.
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

    /// An empty channel of a server that was started long ago.
    fn settled(clock: &ManualClock) -> Presence {
        let presence = Presence::since(clock.now());
        clock.advance_seconds(PRESENCE_TTL.as_secs());
        presence
    }

    #[test]
    fn a_member_with_several_streams_is_announced_once() {
        let clock = clock();
        let mut presence = settled(&clock);
        let (ada, now) = (person(1), clock.now());
        assert!(presence.enter(&ada, now));
        assert!(!presence.enter(&ada, now) && !presence.record_activity(&ada, now));
        assert_eq!(presence.members(now), std::slice::from_ref(&ada));
        presence.leave(ada.person, now);
        clock.advance_seconds(3_600);
        assert_eq!(presence.sweep(clock.now()), []);
        assert_eq!(presence.members(clock.now()), [ada], "the other stream is open");
    }

    #[test]
    fn a_reload_announces_nothing_and_leaving_is_announced_in_time() {
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
        assert!(presence.members(clock.now()).is_empty());
        assert_eq!(presence.sweep(clock.now()), std::slice::from_ref(&ada));
        assert!(presence.is_empty() && presence.enter(&ada, clock.now()));
    }

    #[test]
    fn signing_out_leaves_at_once_unless_another_device_is_connected() {
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
    fn after_a_restart_returning_members_are_not_announced() {
        let clock = clock();
        let mut presence = Presence::since(clock.now());
        clock.advance_seconds(PRESENCE_TTL.as_secs() - 1);
        assert!(!presence.enter(&person(1), clock.now()));
        clock.advance_seconds(1);
        assert!(presence.enter(&person(2), clock.now()));
    }

    #[test]
    fn a_new_name_is_shown_for_a_present_member() {
        let clock = clock();
        let mut presence = settled(&clock);
        presence.enter(&person(1), clock.now());
        let renamed = Profile { nickname: "Countess".to_owned(), ..person(1) };
        presence.rename(&renamed);
        presence.rename(&person(2));
        assert_eq!(presence.members(clock.now()), [renamed]);
    }

    #[test]
    fn a_full_channel_replaces_expired_members_first() {
        let clock = clock();
        let mut presence = settled(&clock);
        for number in 0..PEOPLE_MAX {
            presence.record_activity(&person(i64::try_from(number).unwrap()), clock.now());
        }
        assert!(!presence.enter(&person(-7), clock.now()));
        presence.leave(person(-7).person, clock.now());
        assert_eq!(presence.members(clock.now()).len(), PEOPLE_MAX);
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
        /// After any steps, each followed by a sweep, the announcements add up to the members who are present.
        #[test]
        fn announcements_add_up_to_the_present_members(steps in vec(step(), 0..60)) {
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
                            presence.record_activity(&person(number), clock.now())
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
                prop_assert_eq!(presence.members(clock.now()), here);
            }
        }
    }
}
