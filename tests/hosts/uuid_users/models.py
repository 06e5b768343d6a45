from __future__ import annotations

import uuid

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models


class MemberManager(BaseUserManager["Member"]):
    """Makes members with a password."""

    def create_user(self, handle: str, contact: str, password: str) -> Member:
        member = self.model(handle=handle, contact=contact)
        member.set_password(password)
        member.save(using=self._db)
        return member


class Member(AbstractBaseUser):
    """A user with a UUID for a key, an address of another name, and no phone."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    handle = models.CharField(max_length=40, unique=True)
    contact = models.EmailField()
    is_active = models.BooleanField(default=True)

    objects = MemberManager()

    USERNAME_FIELD = "handle"
    EMAIL_FIELD = "contact"

    def __str__(self) -> str:
        return self.handle
