//! Usernames that could be mistaken for another account or for the staff.

use serde_json::json;

use crate::{Lodge, PASSWORD, Server};

impl Server {
    fn sign_up_status(&self, username: &str) -> u16 {
        let account = json!({ "username": username, "password": PASSWORD });
        self.post("/api/accounts").json(&account).send().status
    }
}

#[test]
fn a_look_alike_of_an_existing_username_is_taken() {
    let server = Lodge::new().start();
    for name in ["alice", "пётр", "bill.10"] {
        assert_eq!(server.sign_up_status(name), 201, "{name}");
    }
    // Cyrillic letters alone, a digit for a letter, a Latin look-alike, and two letters for one.
    for name in ["аӏісе", "al1ce", "aiice", "alıce", "bi11.1o"] {
        assert_eq!(server.sign_up_status(name), 409, "{name}");
    }
    for name in ["alicia", "al-ice", "петр", "bill.11"] {
        assert_eq!(server.sign_up_status(name), 201, "{name}");
    }
    let form = "username=al1ce&password=a+lift+in+the+fog";
    let refused = server.post("/signup").browser().form(form).expect(409);
    refused.says("This username is taken or looks like one that is taken; choose another");
}

#[test]
fn a_username_that_mixes_scripts_is_refused() {
    let server = Lodge::new().start();
    // Cyrillic а, Greek ο.
    for name in ["аlice", "bοb", "рaypal"] {
        let account = json!({ "username": name, "password": PASSWORD });
        let refused = server.post("/api/accounts").json(&account).send();
        refused.expect_field_error(400, "username");
    }
    for name in ["김철수-2", "山田taro", "ωμέγα", "o'brien"] {
        assert_eq!(server.sign_up_status(name), 201, "{name}");
    }
}

#[test]
fn a_visitor_cannot_take_a_name_of_the_staff() {
    let (lodge, server) = Lodge::new().started();
    for name in ["admin", "Аdmin", "adm1n", "ADMIN", "support", "supp0rt", "moderator", "root"] {
        let account = json!({ "username": name, "password": PASSWORD });
        let refused = server.post("/api/accounts").json(&account).send();
        refused.expect_field_error(400, "username");
    }
    let form = "username=support&password=a+lift+in+the+fog";
    let refused = server.post("/signup").browser().form(form).expect(400);
    refused.says("reserved for the staff of this site").says("id=\"username-error\"");
    assert_eq!(server.sign_up_status("supporter"), 201);

    lodge.write("staff.csv", "username\nsupport\n");
    lodge.admin(&["user", "import", lodge.file("staff.csv").to_str().unwrap()]);
    assert_eq!(server.get("/api/users/support").status, 200, "the operator creates it");
}

#[test]
fn the_first_admin_may_be_called_admin() {
    let server = Lodge::new().start();
    let form = "username=admin&password=a+lift+in+the+fog";
    server.post("/admin/setup").browser().form(form).expect(303);
    assert_eq!(server.get("/api/users/admin").status, 200);
}
