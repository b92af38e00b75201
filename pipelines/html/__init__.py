"""Parts of HTML pages that several pages share: axes, templates, embedded pictures and sounds."""
