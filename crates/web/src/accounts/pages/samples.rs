//! Renders every page with all optional content, and checks that hostile input is escaped.

use askama::Template;
use jiff::Timestamp;
use lodge_domain::{
    accounts::{
        Account, AccountId, Email, NamedSecurityEvent, Nickname, ProviderName, Role, Session,
        SessionId, Username,
    },
    pictures::PictureId,
    security::{SecurityActor, SecurityEvent, SecurityEventKind},
};

use super::{
    account::{AccountPage, ProviderRow, SessionRow},
    admin_account::{AdminAccountPage, CodePage},
    admin_accounts::{AdminAccountsPage, Filter},
    admin_events::{self, AdminEventsPage},
    delete::DeletedPage,
    profile::ProfileForm,
    reset::{ResetForm, ResetPage},
    setup::{SetupForm, SetupPage},
    sign_up::{SignUpForm, SignUpPage},
};
use crate::{
    pages::{
        check::{self, HOSTILE_INPUT},
        errors::FormErrors,
    },
    pictures::PictureMax,
};

fn now() -> Timestamp {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn account(number: i64, role: Role) -> Account {
    let nickname = Nickname::stored("\"><script>alert(1)</script>'".to_owned());
    Account {
        id: AccountId(number),
        username: Username::stored(format!("<b>{number}\"/?&{}", "x".repeat(20))),
        nickname,
        email: Some(Email::stored(HOSTILE_INPUT.to_owned())),
        role,
        has_password: true,
        created_at: now(),
        banned_at: (number % 2 == 0).then(now),
        epoch: 1,
        picture: Some(PictureId::stored([0xab; 32])),
    }
}

fn rendered(page: &impl Template) -> String {
    let html = check::rendered(page);
    assert!(!html.contains("correct horse"), "a password is shown: {html}");
    html
}

#[test]
fn the_sign_up_page() {
    let evil = || HOSTILE_INPUT.to_owned();
    let form = SignUpForm {
        form: evil(),
        username: evil(),
        nickname: evil(),
        email: evil(),
        password: "short".to_owned(),
        next: evil(),
    };
    let errors = form.parse().err().unwrap();
    let html = rendered(&SignUpPage {
        signed_in_as: Some(&form.username),
        is_open: true,
        form: &form,
        errors: &errors,
    });
    assert!(
        html.contains("id=\"username-error\"") && html.contains("<details class=\"more\" open>")
    );
    let form = SignUpForm { username: "ada".to_owned(), ..SignUpForm::default() };
    let errors = form.parse().err().unwrap();
    assert!(errors.of("password").is_some(), "every wrong field is named at once");
    let typed = SignUpForm { password: "correct horse".to_owned(), ..SignUpForm::default() };
    let errors = FormErrors::default();
    rendered(&SignUpPage { signed_in_as: None, is_open: true, form: &typed, errors: &errors });
    let html =
        rendered(&SignUpPage { signed_in_as: None, is_open: false, form: &typed, errors: &errors });
    assert!(html.contains("Sign-up is closed") && !html.contains("action=\"/signup\""), "{html}");
}

#[test]
fn the_account_page() {
    let place = |number: u8| SessionRow {
        session: Session {
            id: SessionId(format!("0197f0c0-0000-7000-8000-{number:012}").parse().unwrap()),
            account: AccountId(1),
            created_at: now(),
            expires_at: now(),
            agent: HOSTILE_INPUT.to_owned(),
            authenticated_at: None,
        },
        device: HOSTILE_INPUT.to_owned(),
        is_here: number == 1,
    };
    let (account, sessions) = (account(1, Role::Admin), [place(1), place(2)]);
    let way = |name: Option<&str>, since| ProviderRow {
        name: name.map(|name| ProviderName::parse(name).unwrap()),
        title: HOSTILE_INPUT.to_owned(),
        issuer: HOSTILE_INPUT.to_owned(),
        since,
    };
    let ways = [way(Some("acme"), None), way(Some("other"), Some(now())), way(None, Some(now()))];
    let form = ProfileForm {
        nickname: HOSTILE_INPUT.to_owned(),
        email: HOSTILE_INPUT.to_owned(),
        ..ProfileForm::default()
    };
    let fields = ["nickname", "email", "current", "new", "confirm", "picture", "ways", "link-acme"];
    for field in fields {
        let html = rendered(&AccountPage {
            account: &account,
            sessions: &sessions,
            ways: &ways,
            notice: Some("Saved."),
            form: &form,
            errors: &FormErrors::about(field, HOSTILE_INPUT),
            picture_max: &PictureMax { bytes: 5 << 20, words: "5 MB".to_owned() },
            needs_sign_in: true,
        });
        assert!(html.contains("at most 5 MB") && html.contains("data-bytes-max=\"5242880\""));
        assert!(html.contains(&format!("id=\"{field}-error\"")), "{field}");
    }
    rendered(&DeletedPage { username: &account.username });
}

#[test]
fn the_setup_page_asks_only_for_what_it_needs() {
    let account = account(1, Role::Member);
    let evil = || HOSTILE_INPUT.to_owned();
    let form = SetupForm { username: evil(), password: "correct horse".to_owned(), code: evil() };
    for (me, needs_code) in [(None, true), (None, false), (Some(&account), true)] {
        let errors = &FormErrors::about("code", HOSTILE_INPUT);
        let html = rendered(&SetupPage { me, needs_code, form: &form, errors });
        let asks = ["code", "username"].map(|field| html.contains(&format!("id=\"{field}\"")));
        assert_eq!(asks, [needs_code, me.is_none()]);
    }
}

#[test]
fn the_password_reset_pages() {
    let form = ResetForm {
        username: HOSTILE_INPUT.to_owned(),
        code: HOSTILE_INPUT.to_owned(),
        new: "correct horse".to_owned(),
    };
    for done in [true, false] {
        rendered(&ResetPage {
            form: &form,
            errors: &FormErrors::about("code", HOSTILE_INPUT),
            done,
        });
    }
    rendered(&CodePage { username: &account(1, Role::Member).username, code: HOSTILE_INPUT });
}

#[test]
fn staff_are_offered_only_what_they_may_do() {
    let offered = |me: &Account, account: &Account| {
        let html = rendered(&AdminAccountPage { me, account, notice: Some("Done.") });
        ["set_role", "ban", "take_picture", "reset"]
            .map(|action| html.contains(&format!("value=\"{action}\"")))
    };
    let [ada, bob] = [1, 3].map(|number| account(number, Role::Admin));
    let (max, eve) = (account(5, Role::Moderator), account(7, Role::Member));
    assert_eq!(offered(&ada, &ada), [false; 4]);
    assert_eq!(offered(&ada, &bob), [true, false, false, false]);
    assert_eq!(offered(&ada, &eve), [true; 4]);
    assert_eq!(offered(&max, &ada), [false; 4]);
    assert_eq!(offered(&max, &eve), [false, true, true, false]);
}

#[test]
fn the_list_of_accounts() {
    let accounts: Vec<Account> = (1..=50).map(|number| account(number, Role::Member)).collect();
    let filter = Filter { search: HOSTILE_INPUT.to_owned(), after: HOSTILE_INPUT.to_owned() };
    let next = Some("after=x".to_owned());
    let html =
        rendered(&AdminAccountsPage { accounts: &accounts, filter: &filter, paged: true, next });
    assert!(html.contains("/admin/accounts/%3Cb%3E1%22%2F%3F%26xx"), "{html}");
}

#[test]
fn the_list_of_security_events() {
    let evil = || HOSTILE_INPUT.to_owned();
    let event = SecurityEvent {
        id: uuid::Uuid::nil(),
        at: now(),
        last_at: now(),
        repeats: 2,
        kind: SecurityEventKind::SignInFailed,
        actor: SecurityActor::Account(AccountId(1)),
        account: Some(AccountId(2)),
        origin: evil(),
        detail: evil(),
    };
    let name = || Some(Username::stored(evil()));
    let events = [NamedSecurityEvent { event, actor: name(), account: name() }];
    let filter =
        admin_events::Filter { account: evil(), origin: evil(), ..admin_events::Filter::default() };
    let next = Some(evil());
    let html = rendered(&AdminEventsPage { events: &events, filter: &filter, paged: true, next });
    assert!(html.contains("Sign in failed (2 times)"), "{html}");
    let none = AdminEventsPage { events: &[], filter: &filter, paged: false, next: None };
    assert!(rendered(&none).contains("No events found."));
}
