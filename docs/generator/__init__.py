"""Parts of the site that are generated from the code when mkdocs builds a page."""
