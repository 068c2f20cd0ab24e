"""Pages in the browser: the site that every application shares, and the applications."""
