"""XTTS: text encoder, reference encoder and autoregressive mel decoder.

Shapes: B batch, T tokens, F frames, N decoder steps (F = N · r), C frames of the reference crop, L Perceiver latents,
M mel bands, D width, H heads.
"""
