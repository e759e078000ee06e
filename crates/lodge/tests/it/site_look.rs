//! The name, logo and colour of a site.

use lodge_contract::pictures::files;

use crate::{Lodge, between, text};

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";

#[test]
fn a_site_has_its_own_name_logo_and_colour() {
    let lodge =
        Lodge::new().with("LODGE_SITE_NAME", "Summit <b>").with("LODGE_SITE_COLOR", "#B00020");
    let file = lodge.write("logo.svg", SVG);
    let server = lodge.with("LODGE_SITE_LOGO", text(&file)).start();
    let page = server.get("/").text();
    for part in [
        "<title>Create a link · Summit &#60;b&#62;</title>",
        "\"og:site_name\" content=\"Summit &#60;b&#62;\"",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    assert!(!page.contains("Lodge") && !page.contains("og:image"), "{page}");
    let logo = between(&page, "<img src=\"", "\"").unwrap();
    assert!(page.contains(&format!("<link rel=\"icon\" href=\"{logo}\" type=\"image/svg+xml\">")));
    let file = server.get(logo).expect(200);
    let header = |name| file.header(name).unwrap();
    assert_eq!((file.text().as_str(), header("content-type")), (SVG, "image/svg+xml"));
    assert!(header("cache-control").contains("immutable"));
    assert_eq!(header("x-content-type-options"), "nosniff");
    let policy = header("content-security-policy");
    assert!(
        policy.contains("sandbox") && !policy.contains("script"),
        "its scripts cannot run: {policy}"
    );
    assert_eq!(server.get("/favicon.ico").header("content-type"), Some("image/svg+xml"));
    let style = between(&page, "href=\"/assets/brand.css", "\"").unwrap();
    server.get(&format!("/assets/brand.css{style}")).expect(200).says("--accent:#b00020;");
    server.ask("GET", "/nowhere/at/all").browser().expect(404).says("· Summit");
}

#[test]
fn a_picture_for_previews_has_the_public_url() {
    let lodge = Lodge::new().with("LODGE_PUBLIC_URL", "https://go.example");
    let file = lodge.write("logo.png", files::one_pixel());
    let server = lodge.with("LODGE_SITE_LOGO", text(&file)).start();
    let page = server.get("/").text();
    let url = between(&page, "\"og:image\" content=\"https://go.example", "\"").unwrap();
    assert_eq!(server.get(url).expect(200).header("content-type"), Some("image/png"));
}

#[test]
fn a_site_that_cannot_look_as_configured_does_not_start() {
    for (variable, value, said) in [
        ("LODGE_SITE_NAME", "", "site.name must be 1 to 30 characters"),
        ("LODGE_SITE_NAME", &*"n".repeat(31), "site.name must be 1 to 30 characters"),
        ("LODGE_SITE_COLOR", "green", "site.color: must be # and six hexadecimal digits"),
    ] {
        let ran = Lodge::new().with(variable, value).run(&["serve"]);
        assert!(ran.code == 78 && ran.err.contains(said), "{ran:?}");
    }
    let lodge = Lodge::new();
    for (name, content, said) in [
        ("a.svg", "<html></html>", "logo: must be a PNG, SVG or WebP file"),
        ("b.svg", &*format!("<svg>{}</svg>", " ".repeat(64 << 10)), "must have at most 64 KiB"),
    ] {
        let file = lodge.write(name, content);
        let lodge = lodge.clone().with("LODGE_SITE_LOGO", text(&file));
        let free = ["--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"];
        let ran = lodge.run(&[&["serve"][..], &free].concat());
        assert!(ran.code == 78 && ran.err.contains(said), "{ran:?}");
        lodge.run(&[&["check"][..], &free].concat()).says(1, &["BAD   site.logo", said]);
    }
    let serve = ["serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0"];
    let ran = lodge.with("LODGE_SITE_LOGO", "missing.png").run(&serve);
    assert!(ran.code == 78 && ran.err.contains("site.logo: cannot read missing.png"), "{ran:?}");
}
