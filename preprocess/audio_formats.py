"""Names of audio files. What a file holds is recognised by its first bytes."""

from __future__ import annotations

OF_LIBSNDFILE = (
    *(".wav", ".flac", ".mp3", ".opus", ".ogg", ".sph", ".aiff", ".au", ".caf", ".w64"),
    *(".aif", ".aifc", ".oga", ".snd", ".rf64", ".mp2"),
)
OF_FFMPEG = (".m4a", ".3gp", ".aac", ".webm", ".weba", ".mka", ".wma", ".amr")
AUDIO_SUFFIXES = OF_LIBSNDFILE + OF_FFMPEG  # not .mp4, which is a film more often
