//! Renders the page with its longest content: well-formed, and with all typed text escaped.

use lodge_domain::{
    accounts::{Account, AccountId, Nickname, Role, Username},
    rides::{LeaderProfile, PASSES_MAX, Pass, SkierId},
};

use super::page::{ClaimForm, PassesPage};
use crate::pages::{
    check::{self, HOSTILE_INPUT},
    errors::FormErrors,
};

fn account() -> Account {
    Account {
        id: AccountId(1),
        username: Username::parse("ada").unwrap(),
        nickname: Nickname::parse("\"><script>").unwrap(),
        email: None,
        role: Role::Member,
        has_password: true,
        created_at: "2026-01-31T12:00:00Z".parse().unwrap(),
        banned_at: None,
        epoch: 0,
        picture: None,
    }
}

fn rendered(passes: &[Pass], is_shown: bool, errors: &FormErrors) -> String {
    let form = &ClaimForm { skier: HOSTILE_INPUT.to_owned(), code: "CA4FT-PA5XM".to_owned() };
    let account = &account();
    let profile = is_shown.then(|| LeaderProfile::of(account, account.created_at));
    let profile = profile.as_ref();
    let html = check::rendered(&PassesPage { account, passes, profile, form, errors });
    assert!(!html.contains("PA5XM"), "a code is shown: {html}");
    html
}

#[test]
fn passes_are_listed_and_claimed() {
    let pass = |number: usize| Pass {
        skier: SkierId(u32::MAX - u32::try_from(number).unwrap()),
        account: AccountId(1),
        hidden: number.is_multiple_of(2),
        claimed_at: "2026-01-31T12:00:00Z".parse().unwrap(),
    };
    let passes: Vec<_> = (0..PASSES_MAX).map(pass).collect();
    let html = rendered(&passes, true, &FormErrors::about("code", HOSTILE_INPUT));
    assert!(html.contains("value=\"show\"") && html.contains("value=\"hide\""));
    assert!(html.contains("id=\"code-error\""));
    for (before, _) in html.match_indices("value=\"release\"") {
        let confirmation = html[..before].rsplit_once("<details").unwrap().1;
        assert!(!confirmation.contains("</details>"), "a single click releases a pass: {html}");
    }
    assert_eq!(html.matches("value=\"release\"").count(), PASSES_MAX);
    assert!(html.contains("since <time datetime=\"2026-01-31") && html.contains("class=\"face\""));
    let none = rendered(&[], false, &FormErrors::default());
    assert!(none.contains("No passes yet") && none.contains("Show my nickname and picture"));
}
