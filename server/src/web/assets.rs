//! The status page's files, in the program itself.

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Path, content type and text of each.
pub const ALL: [(&str, &str, &str); 3] = [
    ("/", HTML, include_str!("index.html")),
    ("/style.css", CSS, include_str!("style.css")),
    ("/page.js", SCRIPT, include_str!("page.js")),
];
