from __future__ import annotations

import uuid

from django import forms


class ForgotPasswordForm(forms.Form):
    """What a person types who forgot the password; its shape is checked, not whether it is known.

    ``request_key`` is random for each page shown, so that pressing the button twice is one request.
    """

    email = forms.CharField(
        label="Email or username",
        max_length=254,
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}
        ),
        error_messages={
            "required": "Enter the email address or username of your account.",
            "max_length": "That is too long for an email address or username.",
        },
    )
    request_key = forms.CharField(initial=uuid.uuid4, required=False, widget=forms.HiddenInput)

    def clean_request_key(self) -> str:
        """The key as text; a new one where none came, or where it was tampered with."""
        try:
            return str(uuid.UUID(self.cleaned_data["request_key"]))
        except ValueError:
            return str(uuid.uuid4())
