"""The training step: forward and backward in one XLA program for each batch shape, the update in another for all.

    one device     ┌─ crops ─ counts ─ gradients, part after part ─┐  ┌─ update ─┐     two programs

    many devices   ┌─ crops ─ counts ─┐  Σ  ┌─ gradients ─┐  Σ  ┌─ update ─┐           three, and sums over all replicas

A program that updates variables is given their memory, and where it then finds no room for its own it frees that, the
weights with it. So what needs much room updates none; the update needs less than what has just been given back, and
where another has taken that meanwhile, it is known that weights are lost (`is_updating`).

A batch may be computed in parts, one after another or on several replicas. Each loss is a mean over all of the batch's
valid frames, pairs or steps, counted before: so the parts' losses and gradients add up to those of the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from shared.errors import UserError
from trainer.config.loss_config import LossConfig
from trainer.model.decoder import Decoded
from trainer.model.reference_crop import Crop, choose_crop, unheard_part
from trainer.model.rng import Noise
from trainer.model.xtts import XTTS
from trainer.optim.adamw import AdamW, norm_of
from trainer.training.gradnorm import BALANCED_TERMS, balance_weights, poison_gradient
from trainer.training.losses import SpeakerEmbeddings, Target, loss_terms, loss_weights, term_counts, weighted_sum

Batch = dict[str, tf.Tensor]
Losses = dict[str, tf.Tensor]

# otherwise all gradients are copied into one tensor to be sent
_IN_PACKS = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=256 << 20)


class StepInputs(NamedTuple):
    """A batch with a crop of each clip."""

    mel: tf.Tensor  # [B, F, M] ln magnitude
    frames: tf.Tensor  # [B]
    tokens: tf.Tensor  # [B, T]
    token_counts: tf.Tensor  # [B]
    crop: Crop


class TrainStep:
    """One update; its randomness comes from the seed, the step number and the place in the step's work alone."""

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
            parts: how many parts of a batch are computed one after another; rows i mod parts go together.
            strategy: whose replicas share each batch, the model having been made in its scope.
            xla: whether to compile, or to run the same graph as it is.
        """
        self._model, self._optimizer, self._losses, self._seed = model, optimizer, losses, seed
        self._parts, self._strategy = parts, strategy
        if losses.adaptive and (parts > 1 or (strategy and strategy.num_replicas_in_sync > 1)):
            raise UserError(
                "loss.adaptive: weighs terms by the gradients of a whole batch; it goes with optimizer.microbatches=1 "
                "and one device"
            )
        self._is_shared = strategy is not None and strategy.num_replicas_in_sync > 1
        self.is_updating = False  # so it stays after a call that has failed amid the update
        self.has_updated = False
        shared = (self._prepare, self._differentiate, self._update)
        for method in shared if self._is_shared else (self._update,):
            setattr(self, method.__name__, _compiled(method, xla=xla))
        self._program: Any  # one for each shape
        if self._is_shared:
            self._program = tf.function(self._on_replicas, autograph=False)
        else:
            self._program = _compiled(self._on_one, xla=xla)

    def __call__(self, batch: Batch) -> Losses:
        """Update the model; losses, gradients' norm and learning rate as scalars, `counts` of frames and clips [2].

        All are floats: TensorFlow keeps int32 in the host's memory, and a call should not wait for a copy to it.
        """
        self.is_updating = self._is_shared  # all of it is one call then
        if self._is_shared:
            values = self._program(batch)
        else:
            *found, sizes = self._program(batch)
            self.is_updating = True
            values = {**self._update(*found), "counts": sizes}
        self.is_updating, self.has_updated = False, True
        return values

    @property
    def programs(self) -> int:
        """Shapes compiled so far: they are static, so each trace is one."""
        return self._program.experimental_get_tracing_count()

    def _on_one(self, batch: Batch) -> tuple[list[tf.Tensor], Losses, tf.Tensor, tf.Tensor]:
        """Gradients, losses, the gradients' norm, and counts of frames and clips [2]."""
        inputs, counts, sizes = self._prepare(batch, 0)
        gradients, losses = self._differentiate(inputs, counts, 0)
        return gradients, losses, norm_of(gradients), sizes

    def _on_replicas(self, batch: Batch) -> Losses:
        def on_each(part: Batch) -> Losses:
            context = tf.distribute.get_replica_context()
            number = context.replica_id_in_sync_group
            inputs, *counted = self._prepare(part, number)
            counts, sizes = context.all_reduce(tf.distribute.ReduceOp.SUM, counted)
            found = self._differentiate(inputs, counts, number)
            gradients, losses = context.all_reduce(tf.distribute.ReduceOp.SUM, found, options=_IN_PACKS)
            return {**self._update(gradients, losses), "counts": sizes}

        assert self._strategy is not None
        values = self._strategy.run(on_each, args=(batch,))
        return {name: self._strategy.experimental_local_results(value)[0] for name, value in values.items()}

    def _noise(self, replica: tf.Tensor | int, place: tf.Tensor | int) -> Noise:
        """The source of a replica's crops, place 0, or of its parts, from 1 on."""
        place = replica * (self._parts + 1) + place
        return Noise(seed=self._seed, step=self._optimizer.iterations.value, place=place)

    def _prepare(self, batch: Batch, replica: tf.Tensor | int) -> tuple[StepInputs, Losses, tf.Tensor]:
        """The inputs of a replica, what its losses are means over, and its frames and clips [2]."""
        inputs = prepare_inputs(self._model, batch, noise=self._noise(replica, 0))
        counts = count_terms(self._model, inputs, losses=self._losses)
        sizes = [tf.reduce_sum(inputs.frames), tf.math.count_nonzero(inputs.frames, dtype=tf.int32)]
        return inputs, counts, tf.cast(tf.stack(sizes), tf.float32)

    def _differentiate(
        self, inputs: StepInputs, counts: Losses, replica: tf.Tensor | int
    ) -> tuple[list[tf.Tensor], Losses]:
        """Gradients of the scaled loss, and the losses: this part's contribution to each loss of the whole batch."""
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

    def _differentiate_part(self, inputs: StepInputs, counts: Losses, noise: Noise) -> tuple[list[tf.Tensor], Losses]:
        with tf.GradientTape() as tape:
            step = self._optimizer.iterations.value
            scale = self._optimizer.scaled
            _, losses = forward_loss(
                self._model, inputs, losses=self._losses, step=step, noise=noise, of=counts, scaled=scale
            )
            scaled = scale(losses["loss"])
        variables = [variable.value for variable in self._model.trainable_variables]
        # an embedding's gradient comes as rows, and the norm of rows is not that of their sums
        return [tf.convert_to_tensor(one) for one in tape.gradient(scaled, variables)], losses

    def _update(self, gradients: Sequence[tf.Tensor], losses: Losses, norm: tf.Tensor | None = None) -> Losses:
        return {**losses, **self._optimizer.apply(gradients, loss=losses["loss"], norm=norm)}


class EvalOutput(NamedTuple):
    """What is said of a batch."""

    terms: Losses  # of the loss, unweighted
    counts: Losses  # of how many things each is the mean
    decoded: Decoded


class EvalStep:
    """Losses and output of the network that speaks: sampled, its pre-net dropped, else nothing; always the same way."""

    def __init__(self, model: XTTS, *, losses: LossConfig, seed: int, xla: bool = True):
        self._model, self._losses, self._seed = model, losses, seed
        self._compiled = _compiled(self._evaluate, xla=xla)

    def __call__(self, batch: Batch) -> EvalOutput:
        """Judge a batch."""
        return self._compiled(batch)

    @property
    def programs(self) -> int:
        """Programs made so far, as of the training step."""
        return self._compiled.experimental_get_tracing_count()

    def _evaluate(self, batch: Batch) -> EvalOutput:
        noise = Noise(seed=self._seed, step=tf.constant(0), trains=False)
        inputs = prepare_inputs(self._model, batch, noise=noise)
        counts = count_terms(self._model, inputs, losses=self._losses)
        decoded, terms = _forward_terms(self._model, inputs, losses=self._losses, noise=noise, of=None)
        return EvalOutput(terms, counts, decoded)


def prepare_inputs(model: XTTS, batch: Batch, *, noise: Noise | None) -> StepInputs:
    """A batch as the stream gives it, with a crop of each clip."""
    mel, config = tf.cast(batch["mel"], tf.float32), model.config
    frames, tokens, token_counts = (tf.cast(batch[name], tf.int32) for name in ("frames", "tokens", "token_counts"))
    crop = choose_crop(mel, frames, crop_frames=config.crop_frames, dropped=config.reference_dropout, noise=noise)
    return StepInputs(mel, frames, tokens, token_counts, crop)


def count_terms(model: XTTS, inputs: StepInputs, *, losses: LossConfig) -> Losses:
    """Of how many things each term of the loss is the mean."""
    crop, frames_per_step = inputs.crop, model.config.frames_per_step
    return term_counts(inputs.frames, crop.heard, crop.frames > 0, frames_per_step=frames_per_step, config=losses)


def forward_loss(
    model: XTTS,
    inputs: StepInputs,
    *,
    losses: LossConfig,
    step: tf.Tensor | None,
    noise: Noise | None,
    of: Losses | None = None,
    scaled: Callable[[tf.Tensor], tf.Tensor] = tf.identity,
) -> tuple[Decoded, Losses]:
    """Run the model on the inputs and compute the losses of step `step`; None is after the last.

    Where the inputs are a part of a batch, `of` are the counts of the whole, and the losses of parts add up to its.
    What is differentiated here is `scaled`, so that float16 has gradients of it.

    Returns:
        What was decoded; each term of the loss as it is, their weighted sum as `loss` and, where weights adapt, these.
    """
    weights = loss_weights(losses, step=step)
    if step is None or not losses.adaptive:
        decoded, terms = _forward_terms(model, inputs, losses=losses, noise=noise, of=of)
        return decoded, {"loss": weighted_sum(terms, weights), **terms}
    with tf.GradientTape(persistent=True) as tape:
        decoded, terms = _forward_terms(model, inputs, losses=losses, noise=noise, of=of)
        balanced = {name: scaled(terms[name]) for name in BALANCED_TERMS if name in terms}
    shared = [variable.value for variable in model.decoder.last_shared]
    weights, is_sound = balance_weights(weights, {name: tape.gradient(term, shared) for name, term in balanced.items()})
    shown = {f"{name}_weight": weights[name] for name in terms}
    return decoded, {"loss": poison_gradient(is_sound, weighted_sum(terms, weights)), **terms, **shown}


def _forward_terms(
    model: XTTS, inputs: StepInputs, *, losses: LossConfig, noise: Noise | None, of: Losses | None
) -> tuple[Decoded, Losses]:
    """What is decoded, and each term of the loss."""
    crop, frames = inputs.crop, inputs.frames
    decoded = model(
        inputs.mel,
        tokens=inputs.tokens,
        token_counts=inputs.token_counts,
        crop=crop.mel,
        crop_frames=crop.frames,
        noise=noise,
    )
    voices = None
    if losses.voice:
        unheard = unheard_part(decoded.mel, frames, crop=crop)
        spoken, wanted = (model.recognise(*one) for one in (unheard, (crop.mel, crop.frames)))
        voices = SpeakerEmbeddings(spoken, wanted, crop.frames > 0)
    target = Target(model.decoder.standardise(inputs.mel), frames, inputs.token_counts, crop.heard)
    terms = loss_terms(decoded, target=target, voices=voices, config=losses)
    if of is None:
        return decoded, terms
    own = count_terms(model, inputs, losses=losses)
    return decoded, {name: term * own[name] / tf.maximum(of[name], 1.0) for name, term in terms.items()}


def _compiled(function: Callable, *, xla: bool = True) -> Any:
    return tf.function(function, jit_compile=xla or None, autograph=False)


def _part_of(rows: tf.Tensor, number: tf.Tensor, *, parts: int) -> tf.Tensor:
    """Rows number, number + parts, … of rows [B, …]; empty ones after the last where parts does not divide B."""
    size = -(-rows.shape[0] // parts)
    rows = tf.pad(rows, [[0, size * parts - rows.shape[0]], *[[0, 0]] * (len(rows.shape) - 1)])
    return tf.gather(tf.reshape(rows, [size, parts, *rows.shape[1:]]), number, axis=1)
