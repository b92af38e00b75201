"""Parts that several HTML pages share: clips, axes, number formats, templates, style sheet and script."""
