"""What people read, in their language. Texts stand in `<language>.ftl` (Project Fluent)."""

from keepsake.locales.translation import pick_language, translate

__all__ = ["pick_language", "translate"]
