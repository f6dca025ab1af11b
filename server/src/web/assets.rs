//! The status page's files, in the program itself.

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

const PICTURE: &str = "image/svg+xml";

/// Path, content type and text of each.
pub const ALL: [(&str, &str, &str); 7] = [
    ("/", HTML, include_str!("index.html")),
    ("/style.css", CSS, include_str!("style.css")),
    ("/icon.svg", PICTURE, include_str!("icon.svg")),
    ("/page.js", SCRIPT, include_str!("page.js")),
    ("/chart.js", SCRIPT, include_str!("chart.js")),
    ("/lanes.js", SCRIPT, include_str!("lanes.js")),
    ("/words.js", SCRIPT, include_str!("words.js")),
];
