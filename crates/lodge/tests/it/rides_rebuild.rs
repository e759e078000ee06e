//! `lodge admin rebuild rides`.

use serde_json::json;

use crate::Lodge;

const DAY: &str = "/skiers/3/seasons/2025/days/9/skiers/7";

#[test]
fn the_exit_code_of_a_rebuild_tells_whether_anything_differed() {
    let (lodge, server) = Lodge::new().started();
    server.post(DAY).json(json!({ "time": 1, "liftID": 4 })).expect(201);
    let rebuild = || lodge.run(&["admin", "rebuild", "rides"]);
    let right = rebuild();
    assert_eq!(right.code, 0, "{right:?}");
    assert_eq!(right.out, "1 rides and voids read\nall totals are correct\n");
    assert_eq!(server.stop(), Some(0));
    lodge.database().execute("UPDATE skier_days SET vertical = 50", []).unwrap();
    rebuild().says(3, &["skiers' days: 1 wrong, corrected"]);
    assert_eq!(rebuild().code, 0);
    assert_eq!(lodge.start().get(DAY).json(), json!(40));
    // An impossible day, which a rebuild cannot correct.
    lodge.database().execute("UPDATE rides SET day = 70000", []).unwrap();
    rebuild().expect(1);
}
