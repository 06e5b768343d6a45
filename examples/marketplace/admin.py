from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from examples.marketplace.models import User

if TYPE_CHECKING:
    CustomerAdminBase = UserAdmin[User]
else:
    CustomerAdminBase = UserAdmin


@admin.register(User)
class CustomerAdmin(CustomerAdminBase):
    """Django's pages for users, with the phone number."""

    fieldsets = (*(UserAdmin.fieldsets or ()), ("Resets by SMS", {"fields": ("phone",)}))
