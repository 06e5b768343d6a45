from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Upper


class User(AbstractUser):
    """A customer. Several may share an address, as families do; only the user name is unique."""

    phone = models.CharField(
        max_length=16,
        blank=True,
        help_text="With the country code, such as +4915228817386.",
        validators=[
            RegexValidator(r"^\+[1-9][0-9]{1,14}\Z", "Write a plus sign, the country code and the number.")
        ],
    )

    class Meta(AbstractUser.Meta):
        # The forgotten-password page looks an address up whatever its case.
        indexes = [models.Index(Upper("email"), name="marketplace_user_email")]


class AccessToken(models.Model):
    """What lets an app act for a customer; of the token itself only a digest is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="access_tokens")
    digest = models.CharField(max_length=64, unique=True)

    def __str__(self) -> str:
        return f"token {self.pk}"
