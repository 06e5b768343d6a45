"""The pages on which a live sender is moved over: one of all channels, and one of each.

They do what ``manage.py rollout`` does. Whoever may view channels may look at them, and whoever may
change channels may move them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from notifications.channels import Channel
from resetdelivery.admin.page_links import may_view
from resetdelivery.admin.rollout_forms import LookForm, PauseForm, ResumeForm, RolloutForm, SetForm
from resetdelivery.admin.rollout_picture import Bar, age_bar, slice_bar
from resetdelivery.conf import get_settings
from resetdelivery.cutover.facts import NothingSeen
from resetdelivery.cutover.status import ChannelStatus, history, status
from resetdelivery.cutover.steps import preview
from resetdelivery.domain.health import MEANINGS, HealthReason
from resetdelivery.domain.rollout import Finding, Position
from resetdelivery.exceptions import ResetDeliveryError
from resetdelivery.models import AuditEntry, ChannelControl

_STEPS_SHOWN = 10
_MAY_BE = require_http_methods(["GET", "HEAD", "POST"])

#: A page's forms by their steps. At most one of them holds what was sent.
_Forms = dict[str, RolloutForm]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPart:
    """What the pages show of one channel; ``address`` is that of its own page."""

    status: ChannelStatus
    why: tuple[tuple[HealthReason, str], ...]
    slice: Bar
    age: Bar
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All channels; or why there is nothing to see of them, while switch and steps back work all the same."""

    parts: tuple[ChannelPart, ...] = ()
    unseen: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a step asks for, or why that cannot be said."""

    findings: tuple[Finding, ...] = ()
    unseen: str = ""

    @property
    def all_hold(self) -> bool:
        """Whether the step needs no override."""
        return not self.unseen and all(finding.ok for finding in self.findings)


@_MAY_BE
def rollout_page(request: HttpRequest, site: AdminSite, *, may_change: bool) -> HttpResponse:
    """All channels, the last steps, and the switch that pauses everything."""
    forms: _Forms = {form.prefix: form() for form in (PauseForm, ResumeForm)}
    # The switch works also while the numbers cannot be read: what was sent comes first.
    if _is_carried_out(request, forms, list(Channel), may_change=may_change):
        return HttpResponseRedirect(request.path)
    seen = _look(site)
    context = {
        "title": "Rollout",
        "channels": seen.parts,
        "unseen": seen.unseen,
        "forms": forms if may_change else None,
    }
    return _page(request, site, "rollout.html", context)


@_MAY_BE
def channel_page(request: HttpRequest, site: AdminSite, name: str, *, may_change: bool) -> HttpResponse:
    """One channel: where it stands, and its next step, looked at first."""
    channel = next((one for one in get_settings().channels if one.value == name), None)
    if channel is None:
        raise Http404(f"RESETDELIVERY['CHANNELS'] has no channel of this name ({len(name)} characters).")
    forms: _Forms = {form.prefix: form() for form in (SetForm, PauseForm, ResumeForm)}
    if _is_carried_out(request, forms, [channel], may_change=may_change):
        return HttpResponseRedirect(request.path)
    seen = _look(site)
    part = next((one for one in seen.parts if one.status.channel == channel), None)
    wanted = _wanted(request, forms, part.status.next_position if part else None)
    found = _found(channel, wanted) if wanted and may_change else None
    context = {
        "title": f"Rollout of {channel}",
        "channel": channel,
        "part": part,
        "unseen": seen.unseen,
        "wanted": wanted,
        "found": found,
        "forms": forms if may_change else None,
    }
    return _page(request, site, "rollout_channel.html", context)


def _is_carried_out(
    request: HttpRequest, forms: _Forms, channels: Sequence[Channel], *, may_change: bool
) -> bool:
    """Whether a form was sent and did its work. If it did not, it stands among ``forms`` and says why."""
    if request.method != "POST":
        return False
    if not may_change:
        raise PermissionDenied
    asked = forms.get(request.POST.get("step", ""))
    if asked is None:
        raise BadRequest("This page has no such step.")
    form = forms[asked.prefix] = type(asked)(request.POST)
    if not form.is_valid():
        return False
    try:
        done = form.carry_out(channels, request.user.get_username())
    except ResetDeliveryError as error:
        form.add_error(None, str(error))
        return False
    messages.success(request, done)
    return True


def _wanted(request: HttpRequest, forms: _Forms, then: Position | None) -> Position | None:
    """The position that somebody looks at or could not have, if any; ``then`` is the one to propose."""
    sent = forms["set"]
    if isinstance(sent, SetForm) and sent.is_bound:
        if not sent.names_a_position():
            raise BadRequest("The step that was sent is none that this page offers.")
        forms["look"] = LookForm(initial=_as_initial(sent.position()))
        return sent.position()
    look = LookForm(request.GET if LookForm.is_sent(request.GET) else None, initial=_as_initial(then))
    forms["look"] = look
    if not look.names_a_position():
        return None
    forms["set"] = SetForm(initial=_as_initial(look.position()))
    return look.position()


def _as_initial(position: Position | None) -> dict[str, Any]:
    return {"mode": position.mode, "slice_per_mille": position.slice_per_mille} if position else {}


def _found(channel: Channel, wanted: Position) -> Found:
    try:
        findings = preview(channel, mode=wanted.mode, slice_per_mille=wanted.slice_per_mille)
    except NothingSeen as error:
        return Found(unseen=str(error))
    return Found(findings=findings)


def _look(site: AdminSite) -> Seen:
    try:
        return Seen(parts=tuple(_part(one, site) for one in status()))
    except NothingSeen as error:
        return Seen(unseen=str(error))


def _part(one: ChannelStatus, site: AdminSite) -> ChannelPart:
    place = "admin:resetdelivery_channelcontrol_rollout_channel"
    return ChannelPart(
        status=one,
        why=tuple((reason, MEANINGS[reason]) for reason in one.reasons),
        slice=slice_bar(one),
        age=age_bar(one),
        address=reverse(place, args=[one.channel.value], current_app=site.name),
    )


def _page(request: HttpRequest, site: AdminSite, template: str, content: dict[str, Any]) -> TemplateResponse:
    shown = may_view(request, site, AuditEntry)
    context = {
        **site.each_context(request),
        "opts": ChannelControl._meta,
        "history": history(limit=_STEPS_SHOWN) if shown else None,
        **content,
    }
    return TemplateResponse(request, f"resetdelivery/admin/{template}", context)
