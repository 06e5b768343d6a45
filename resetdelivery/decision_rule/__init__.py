"""Whether resets can still help when all goes badly, from the settings and from what was measured."""

from __future__ import annotations

from resetdelivery.decision_rule.figures import as_json
from resetdelivery.decision_rule.mends import mends
from resetdelivery.decision_rule.picture import picture
from resetdelivery.decision_rule.rule import DecisionRule, decide
from resetdelivery.decision_rule.table import report
from resetdelivery.decision_rule.terms import way_of

__all__ = ["DecisionRule", "as_json", "decide", "mends", "picture", "report", "way_of"]
