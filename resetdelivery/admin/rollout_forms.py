"""The forms of a rollout's pages. What each does, it does by ``resetdelivery.cutover.steps``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from notifications.channels import Channel
from resetdelivery.cutover.steps import change, pause, resume
from resetdelivery.domain.rollout import EVERYBODY, ChannelMode, Position

#: The audit trail has 255, and an override's reason stands there beside all that did not hold.
_LONGEST_WHY = 140
#: Web servers cut requests off after half a minute or so.
_PATIENCE = dt.timedelta(seconds=15)
_NO_NAMES = "It stays in the audit trail: no customer's name, address or number."


def _why(label: str, *, required: bool) -> forms.CharField:
    errors = {"required": "Say why, for whoever comes across this later."}
    return forms.CharField(
        label=label,
        required=required,
        max_length=_LONGEST_WHY,
        help_text=_NO_NAMES,
        error_messages=errors,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )


class RolloutForm(forms.Form):
    """A form whose first wrong field is where the page begins; its prefix names it among its page's."""

    prefix: str
    required_css_class = "required"

    def full_clean(self) -> None:
        super().full_clean()
        wrong = next((name for name in self.fields if name in self.errors), None)
        if wrong:
            self.fields[wrong].widget.attrs["autofocus"] = True

    def carry_out(self, channels: Sequence[Channel], who: str) -> str:
        """Make the step in the name of ``who``; what was done, as a sentence.

        Raises :class:`~resetdelivery.exceptions.ResetDeliveryError`.
        """
        raise NotImplementedError


class PauseForm(RolloutForm):
    prefix = "pause"
    why = _why("Why paused", required=True)

    def carry_out(self, channels: Sequence[Channel], who: str) -> str:
        done = pause(channels, who=who, why=self.cleaned_data["why"], patience=_PATIENCE)
        return f"Paused: {', '.join(done)}." if done else "Nothing changed: it was paused already."


class ResumeForm(RolloutForm):
    prefix = "resume"
    why = _why("Why resumed", required=False)

    def carry_out(self, channels: Sequence[Channel], who: str) -> str:
        done = resume(channels, who=who, why=self.cleaned_data["why"])
        return f"Resumed: {', '.join(done)}." if done else "Nothing changed: it was not paused."


class LookForm(RolloutForm):
    """Where a channel is to stand; sending it changes nothing."""

    prefix = "look"
    mode = forms.ChoiceField(
        choices=[
            (ChannelMode.LEGACY, "legacy: the existing sender sends"),
            (ChannelMode.SHADOW, "shadow: it sends, we rehearse"),
            (ChannelMode.LIVE, "live: we send for the slice"),
        ]
    )
    slice_per_mille = forms.IntegerField(
        label=f"Slice of {EVERYBODY} accounts",
        required=False,
        min_value=1,
        max_value=EVERYBODY,
        help_text=f"{EVERYBODY} is everybody. For live only.",
    )

    @classmethod
    def is_sent(cls, query: QueryDict) -> bool:
        """Whether ``query`` is what this form sends."""
        return f"{cls.prefix}-mode" in query

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        is_live = cleaned.get("mode") == ChannelMode.LIVE
        if is_live and cleaned.get("slice_per_mille") is None and "slice_per_mille" not in self.errors:
            self.add_error("slice_per_mille", f"A live channel has a slice: 1 to {EVERYBODY}.")
        return cleaned

    def names_a_position(self) -> bool:
        """Whether mode and slice are there and right, whatever else is wrong."""
        return self.is_bound and not self.errors.keys() & {"mode", "slice_per_mille"}

    def position(self) -> Position:
        """What was asked for, of a form that names it."""
        mode = self.cleaned_data["mode"]
        chosen = self.cleaned_data["slice_per_mille"] if mode == ChannelMode.LIVE else EVERYBODY
        return Position(mode, chosen)


class SetForm(LookForm):
    """The step that was looked at: made, if all that it asks for holds or somebody says why not."""

    prefix = "set"
    why = _why("Why", required=False)
    override = forms.BooleanField(
        required=False,
        label="Apply it although not all of this holds",
        label_suffix="",
        help_text="Needs a reason.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("mode", "slice_per_mille"):
            self.fields[name].widget = forms.HiddenInput()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("override") and not cleaned.get("why") and "why" not in self.errors:
            self.add_error("why", "Say why it is applied although not all of it holds.")
        return cleaned

    def carry_out(self, channels: Sequence[Channel], who: str) -> str:
        (channel,), wanted = channels, self.position()
        made = change(
            channel,
            mode=wanted.mode,
            slice_per_mille=wanted.slice_per_mille,
            who=who,
            why=self.cleaned_data["why"],
            override=self.cleaned_data["override"],
        )
        if made.before == made.after:
            return f"Nothing changed: {channel} is {made.after} already."
        return f"Moved: {channel} from {made.before} to {made.after}."
