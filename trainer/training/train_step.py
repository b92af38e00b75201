"""The training step: one XLA program per batch shape for forward and backward pass, and one for all updates.

    one device     ┌─ crops ─ counts ─ gradients, micro-batches ─┐  ┌─ update ─┐        two programs

    many devices   ┌─ crops ─ counts ─┐  Σ  ┌─ gradients ─┐  Σ  ┌─ update ─┐           three; Σ sums over replicas

XLA donates the memory of variables to a program that updates them; if such a program runs out of memory, the weights
are lost. So the program that needs much memory updates nothing. The update needs less memory than the gradients have
just released; if it fails nevertheless, `is_updating` tells that weights may be lost.

A batch may be computed in micro-batches, one after another, or on several replicas. Each loss is a mean over all valid
frames, pairs or steps of the batch, which are counted first: the losses and gradients of the parts add up to those of
the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from shared.errors import UserError
from trainer.config.loss_config import LossConfig
from trainer.distributed.device_memory import bucket_of
from trainer.model.decoder import Decoded
from trainer.model.reference_crop import Crop, choose_crop, replace_crop
from trainer.model.rng import RngStream
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW, global_norm
from trainer.platform.first_calls import FirstCalls
from trainer.training.gradnorm import BALANCED_TERMS, balance_weights, poison_gradient
from trainer.training.losses import Target, loss_terms, loss_weights, term_counts, weighted_sum

Batch = dict[str, tf.Tensor]
Losses = dict[str, tf.Tensor]

# without a limit all gradients are copied into one tensor before they are sent
_ALL_REDUCE_OPTIONS = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=256 << 20)


class StepInputs(NamedTuple):
    """A batch, and a reference crop of each clip."""

    mel: tf.Tensor  # [B, F, M] ln magnitude
    frames: tf.Tensor  # [B]
    tokens: tf.Tensor  # [B, T]
    token_counts: tf.Tensor  # [B]
    crop: Crop


class TrainStep:
    """Runs one update; random numbers depend only on the seed, the step number, the replica and the micro-batch."""

    def __init__(
        self,
        model: XTTS,
        optimizer: AdamW,
        *,
        losses: LossConfig,
        seed: int,
        parts: int = 1,
        strategy: tf.distribute.Strategy | None = None,
        xla: bool = True,
    ):
        """
        Args:
            parts: number of micro-batches per batch; row i belongs to micro-batch i mod parts.
            strategy: its replicas share each batch; the model was created in its scope.
            xla: compile with XLA, or run the same graph without it.
        """
        self._model, self._optimizer, self._losses, self._seed = model, optimizer, losses, seed
        self._parts, self._strategy = parts, strategy
        if losses.adaptive and (parts > 1 or (strategy and strategy.num_replicas_in_sync > 1)):
            raise UserError(
                "loss.adaptive: needs the gradients of a whole batch; expected optimizer.microbatches=1 and one device"
            )
        self._is_shared = strategy is not None and strategy.num_replicas_in_sync > 1
        self.is_updating = False  # stays True after a call that failed during the update
        self.has_updated = False
        shared = (self._prepare, self._differentiate, self._update)
        for method in shared if self._is_shared else (self._update,):
            setattr(self, method.__name__, _compiled(method, xla=xla))
        self._program: Any  # traced once for each batch shape
        if self._is_shared:
            self._program = tf.function(self._on_replicas, autograph=False)
        else:
            self._program = _compiled(self._on_one, xla=xla)
        self._first_calls = FirstCalls("training")
        self._first_updates = FirstCalls("update")

    def __call__(self, batch: Batch) -> Losses:
        """Update the model once.

        Returns:
            Losses, gradient norm and learning rate as scalars, and `counts` [2] of valid frames and clips. All are
            floats: TensorFlow keeps int32 in host memory, and a call should not wait for that copy.
        """
        self.is_updating = self._is_shared  # gradients and update are one call
        with self._first_calls.cache_programs(bucket_of(batch)):
            found = self._program(batch)
        values = found if self._is_shared else self._update_once(*found)
        self.is_updating, self.has_updated = False, True
        return values

    def _update_once(self, gradients: Sequence[tf.Tensor], losses: Losses, norm: tf.Tensor, sizes: tf.Tensor) -> Losses:
        self.is_updating = True
        with self._first_updates.cache_programs(None):  # one program for all batch shapes
            return {**self._update(gradients, losses, norm), "counts": sizes}

    @property
    def programs(self) -> int:
        """Number of batch shapes compiled so far; shapes are static, so each has its own trace."""
        return self._program.experimental_get_tracing_count()

    def _on_one(self, batch: Batch) -> tuple[list[tf.Tensor], Losses, tf.Tensor, tf.Tensor]:
        """Return gradients, losses, gradient norm, and counts [2] of frames and clips."""
        inputs, counts, sizes = self._prepare(batch, 0)
        gradients, losses = self._differentiate(inputs, counts, 0)
        return gradients, losses, global_norm(gradients), sizes

    def _on_replicas(self, batch: Batch) -> Losses:
        def on_each(part: Batch) -> Losses:
            context = tf.distribute.get_replica_context()
            number = context.replica_id_in_sync_group
            inputs, *counted = self._prepare(part, number)
            counts, sizes = context.all_reduce(tf.distribute.ReduceOp.SUM, counted)
            found = self._differentiate(inputs, counts, number)
            gradients, losses = context.all_reduce(tf.distribute.ReduceOp.SUM, found, options=_ALL_REDUCE_OPTIONS)
            return {**self._update(gradients, losses), "counts": sizes}

        assert self._strategy is not None
        values = self._strategy.run(on_each, args=(batch,))
        return {name: self._strategy.experimental_local_results(value)[0] for name, value in values.items()}

    def _noise(self, replica: tf.Tensor | int, place: tf.Tensor | int) -> RngStream:
        """Return the random source of a replica: place 0 for crops, places from 1 for micro-batches."""
        place = replica * (self._parts + 1) + place
        return RngStream(seed=self._seed, step=self._optimizer.iterations.value, place=place)

    def _prepare(self, batch: Batch, replica: tf.Tensor | int) -> tuple[StepInputs, Losses, tf.Tensor]:
        """Return a replica's inputs, the element counts of its losses, and its counts [2] of frames and clips."""
        inputs = prepare_inputs(self._model, batch, noise=self._noise(replica, 0))
        counts = count_terms(self._model, inputs)
        sizes = [tf.reduce_sum(inputs.frames), tf.math.count_nonzero(inputs.frames, dtype=tf.int32)]
        return inputs, counts, tf.cast(tf.stack(sizes), tf.float32)

    def _differentiate(
        self, inputs: StepInputs, counts: Losses, replica: tf.Tensor | int
    ) -> tuple[list[tf.Tensor], Losses]:
        """Return gradients of the scaled loss, and the replica's contribution to each loss of the whole batch."""
        if self._parts == 1:
            return self._differentiate_part(inputs, counts, self._noise(replica, 1))

        def add(number: tf.Tensor, sums: Any) -> tuple[tf.Tensor, Any]:
            part = tf.nest.map_structure(lambda rows: _part_of(rows, number, parts=self._parts), inputs)
            found = self._differentiate_part(part, counts, self._noise(replica, 1 + number))
            return number + 1, tf.nest.map_structure(tf.add, sums, found)

        zeros = [tf.zeros(variable.shape) for variable in self._model.trainable_variables]
        nothing = (zeros, dict.fromkeys(["loss", *counts], tf.zeros([])))
        _, sums = tf.while_loop(lambda number, _: number < self._parts, add, (tf.constant(0), nothing))
        return sums

    def _differentiate_part(
        self, inputs: StepInputs, counts: Losses, noise: RngStream
    ) -> tuple[list[tf.Tensor], Losses]:
        with tf.GradientTape() as tape:
            step = self._optimizer.iterations.value
            scale = self._optimizer.scale_loss
            _, losses = forward_loss(
                self._model, inputs, losses=self._losses, step=step, noise=noise, of=counts, scaled=scale
            )
            scaled = scale(losses["loss"])
        variables = [variable.value for variable in self._model.trainable_variables]
        # the gradient of an embedding is a list of rows, and the norm of the rows is not that of their sum
        return [tf.convert_to_tensor(one) for one in tape.gradient(scaled, variables)], losses

    def _update(self, gradients: Sequence[tf.Tensor], losses: Losses, norm: tf.Tensor | None = None) -> Losses:
        return {**losses, **self._optimizer.apply(gradients, loss=losses["loss"], norm=norm)}


class EvalOutput(NamedTuple):
    """Losses and output of one validation batch."""

    terms: Losses  # unweighted
    counts: Losses  # number of elements over which each term averages
    decoded: Decoded


class EvalStep:
    """Computes losses and output as at synthesis: latents sampled, only the pre-net's dropout active, fixed noise.

    Each clip has the noise and the reference crop that it would have alone, whatever the batches. So losses of runs on
    other numbers of devices can be compared.
    """

    def __init__(self, model: XTTS, *, losses: LossConfig, seed: int, xla: bool = True, draws_by_batch: bool = False):
        """`draws_by_batch`: other noise for each clip and batch, by the batch's first row; False: all have the same."""
        self._model, self._losses, self._seed, self._draws_by_batch = model, losses, seed, draws_by_batch
        self._compiled = _compiled(self._evaluate, xla=xla)
        self._first_calls = FirstCalls("validation")

    def __call__(self, batch: Batch) -> EvalOutput:
        """Compute the losses of a batch."""
        with self._first_calls.cache_programs(bucket_of(batch)):
            return self._compiled(batch)

    @property
    def programs(self) -> int:
        """Number of batch shapes compiled so far."""
        return self._compiled.experimental_get_tracing_count()

    def _evaluate(self, batch: Batch) -> EvalOutput:
        step = tf.maximum(batch["rows"][0], 0) if self._draws_by_batch else tf.constant(0)
        noise = RngStream(seed=self._seed, step=step, rows_alike=not self._draws_by_batch, trains=False)
        inputs = prepare_inputs(self._model, batch, noise=noise)
        counts = count_terms(self._model, inputs)
        decoded, terms = _forward_terms(self._model, inputs, losses=self._losses, noise=noise, of=None)
        return EvalOutput(terms, counts, decoded)


def prepare_inputs(model: XTTS, batch: Batch, *, noise: RngStream | None) -> StepInputs:
    """Cast a batch of the input stream, and choose a reference crop of each clip, unless the batch brings one."""
    mel, config = tf.cast(batch["mel"], tf.float32), model.config
    frames, tokens, token_counts = (tf.cast(batch[name], tf.int32) for name in ("frames", "tokens", "token_counts"))
    crop = choose_crop(mel, frames, crop_frames=config.crop_frames, dropped=config.reference_dropout, noise=noise)
    if "reference" in batch:
        other = tf.cast(batch["reference"], tf.float32), tf.cast(batch["reference_frames"], tf.int32)
        crop = replace_crop(crop, *other)
    return StepInputs(mel, frames, tokens, token_counts, crop)


def count_terms(model: XTTS, inputs: StepInputs) -> Losses:
    """Return the number of elements over which each loss term averages."""
    return term_counts(inputs.frames, inputs.crop.reference_mask, frames_per_step=model.config.frames_per_step)


def forward_loss(
    model: XTTS,
    inputs: StepInputs,
    *,
    losses: LossConfig,
    step: tf.Tensor | None,
    noise: RngStream | None,
    of: Losses | None = None,
    scaled: Callable[[tf.Tensor], tf.Tensor] = tf.identity,
) -> tuple[Decoded, Losses]:
    """Run the model on the inputs and compute its losses.

    Args:
        step: decides the loss weights; None means after the last step.
        of: element counts of the whole batch, if the inputs are a part of it: the parts' losses then add up.
        scaled: loss scaling for the gradients that are computed here, for float16.

    Returns:
        The decoder's output, and the losses: each unweighted term, their weighted sum `loss` and, with adaptive
        weights, the weights.
    """
    weights = loss_weights(losses, step=step)
    if step is None or not losses.adaptive:
        decoded, terms = _forward_terms(model, inputs, losses=losses, noise=noise, of=of)
        return decoded, {"loss": weighted_sum(terms, weights), **terms}
    shared = [variable.value for variable in model.decoder.last_shared]
    # of the layers below, nothing is recorded: each term's gradient would be computed through all of them
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(shared)
        decoded, terms = _forward_terms(model, inputs, losses=losses, noise=noise, of=of)
        balanced = {name: scaled(terms[name]) for name in BALANCED_TERMS if name in terms}
    weights, is_finite = balance_weights(
        weights, {name: tape.gradient(term, shared) for name, term in balanced.items()}
    )
    shown = {f"{name}_weight": weights[name] for name in terms}
    return decoded, {"loss": poison_gradient(is_finite, weighted_sum(terms, weights)), **terms, **shown}


def _forward_terms(
    model: XTTS, inputs: StepInputs, *, losses: LossConfig, noise: RngStream | None, of: Losses | None
) -> tuple[Decoded, Losses]:
    """Return the decoder's output, and each unweighted loss term."""
    crop, frames = inputs.crop, inputs.frames
    decoded = model(
        inputs.mel,
        tokens=inputs.tokens,
        token_counts=inputs.token_counts,
        crop=crop.mel,
        crop_frames=crop.frames,
        noise=noise,
    )
    target = Target(model.decoder.standardise(inputs.mel), frames, inputs.token_counts, crop.reference_mask)
    terms = loss_terms(decoded, target=target, config=losses)
    if of is None:
        return decoded, terms
    own = count_terms(model, inputs)
    return decoded, {name: term * own[name] / tf.maximum(of[name], 1.0) for name, term in terms.items()}


def _compiled(function: Callable, *, xla: bool = True) -> Any:
    return tf.function(function, jit_compile=xla or None, autograph=False)


def _part_of(rows: tf.Tensor, number: tf.Tensor, *, parts: int) -> tf.Tensor:
    """Return rows number, number + parts, … of [B, …]; zero rows fill up if parts does not divide B."""
    size = -(-rows.shape[0] // parts)
    rows = tf.pad(rows, [[0, size * parts - rows.shape[0]], *[[0, 0]] * (len(rows.shape) - 1)])
    return tf.gather(tf.reshape(rows, [size, parts, *rows.shape[1:]]), number, axis=1)
