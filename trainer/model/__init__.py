"""XTTS: text encoder, audio encoder, autoregressive mel decoder.

Shapes: B batch, T tokens, F frames, N decoder steps (F = N · r), C frames of the conditioning crop,
L Perceiver latents, M mel bands, D width, H heads.
"""
