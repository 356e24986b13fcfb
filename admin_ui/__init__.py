"""Pages where people look, decide and take back."""

from admin_ui.app import make_admin
from admin_ui.deps import AdminParts

__all__ = ["AdminParts", "make_admin"]
