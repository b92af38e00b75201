"""An HTTP server of speech, with the interface of OpenAI's speech API and a page for people."""
