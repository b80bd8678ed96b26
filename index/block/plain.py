"""Expressions that are in normal form by sight: an AND of plain leaves, or an OR of such, as nearly all are.

Leaves are looked up as objects first: the decoders give one object for equal leaves, so most are known already.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations

from index.attribute_names import base_attribute
from index.block.nodes import Test
from index.normal_form import LeafKeys, PlainLeaf, can_score, is_plain_leaf
from schemas.expression import And, Expression, NotExists, NotIn, Or

NOT_PLAIN = 0
"""The form of what is no plain leaf."""

_MOST_BRANCHES = 16
"""An OR of more branches than this is compared branch by branch elsewhere."""


class PlainReader:
    """Reads plain expressions as lists of *forms*: the number of a literal and of the leaf by which it scores.

    Parameters
    ----------
    test
        Interns a leaf; called once a leaf, in the order in which expressions are taken.

    Attributes
    ----------
    literal, leaf
        What a form stands for, once an expression with it has been taken.
    """

    def __init__(self, test: Callable[[Expression], Test]) -> None:
        self.literal, self.leaf = array("i", [0]), array("i", [0])
        self._test = test
        self._form: dict[int, int] = {}
        self._kept: dict[int, PlainLeaf] = {}
        self._attribute = [-1]
        self._key = [-1]
        self._attributes: dict[str, int] = {}
        self._keys = LeafKeys()
        self._fresh: dict[int, Expression] = {}
        self._forms: dict[Test, int] = {}

    def read(self, expression: Expression) -> list[list[int]] | None:
        """Return the forms of each clause; None when the expression has to be put in normal form first."""
        if type(expression) is not Or:
            found = self._conjunction(expression)
            return None if found is None else [found]
        clauses = [self._conjunction(branch) for branch in expression.args]
        plain = [clause for clause in clauses if clause is not None]
        return self._unabsorbed(plain) if len(plain) == len(clauses) > 1 else None

    def take(self, clauses: Iterable[Sequence[int]]) -> None:
        """Intern the leaves of clauses that `read` returned and that were not met before."""
        if not self._fresh:
            return
        for clause in clauses:
            for form in clause:
                if form in self._fresh:
                    self.literal[form], self.leaf[form] = self._test(self._fresh.pop(form))

    def form(self, test: Test) -> int:
        """Return the form of a literal that was interned elsewhere."""
        found = self._forms.get(test)
        if found is None:
            found = self._forms[test] = self._new(test)
        return found

    def _new(self, test: Test) -> int:
        self.literal.append(test.literal)
        self.leaf.append(test.leaf)
        self._attribute.append(-1)
        self._key.append(-1)
        return len(self.literal) - 1

    def _conjunction(self, expression: Expression) -> list[int] | None:
        """Return the forms of an AND of plain leaves over different attributes, or of one leaf."""
        if type(expression) is And:
            leaves = expression.args
            if len(leaves) < 2:
                return None
        else:
            leaves = (expression,)
        known = self._form
        try:
            forms = list(map(known.__getitem__, map(id, leaves)))
        except KeyError:
            forms = [self._number(leaf) for leaf in leaves]
        attribute = self._attribute
        if NOT_PLAIN in forms or len(set(map(attribute.__getitem__, forms))) < len(forms):
            return None
        return forms

    def _number(self, leaf: Expression) -> int:
        found = self._form.get(id(leaf))
        if found is None:
            if not is_plain_leaf(leaf):
                return NOT_PLAIN
            found = self._form[id(leaf)] = self._new(Test(0, 0))
            self._kept[found] = leaf  # an object that is gone could leave its identity to another
            self._fresh[found] = leaf
            name = base_attribute(leaf.attribute)
            self._attribute[found] = self._attributes.setdefault(name, len(self._attributes))
        return found

    def _unabsorbed(self, clauses: list[list[int]]) -> list[list[int]] | None:
        """Drop branches of an OR as `index.simplify` does; None when leaves have a say in one another."""
        single = [self._attribute[clause[0]] for clause in clauses if len(clause) == 1]
        if len(clauses) > _MOST_BRANCHES or len(set(single)) < len(single):
            return None
        about = [set(map(self._attribute.__getitem__, clause)) for clause in clauses]
        nested = [(small, large) for small, large in permutations(range(len(about)), 2) if about[small] <= about[large]]
        if any(self._opposed(clauses[small], clauses[large]) for small, large in nested):
            return None
        absorbed = {large for small, large in nested if self._absorbs(clauses, small, large)}
        return [clause for place, clause in enumerate(clauses) if place not in absorbed] if absorbed else clauses

    def _opposed(self, small: Sequence[int], large: Sequence[int]) -> bool:
        """Return whether a branch is one leaf and another has a leaf over its attribute, just one of them negated."""
        negated, attribute = self._negated(small[0]), self._attribute[small[0]]
        return len(small) == 1 and any(
            self._attribute[form] == attribute and self._negated(form) != negated for form in large
        )

    def _negated(self, form: int) -> bool:
        return isinstance(self._kept[form], NotIn | NotExists)

    def _absorbs(self, clauses: Sequence[list[int]], small: int, large: int) -> bool:
        """Return whether a branch makes another superfluous: that implies it, and scores the same."""
        more = set(map(self._leaf_key, clauses[large]))
        if self._leaf_key(clauses[small][0]) not in more:
            return False  # as nearly always
        less = set(map(self._leaf_key, clauses[small]))
        return less <= more and (len(less), small) < (len(more), large) and self._score(less) == self._score(more)

    def _score(self, keys: Iterable[int]) -> list[int]:
        """Return the keys of what scores; keys are distinct, as a branch's attributes are."""
        return sorted(key for key in keys if key & 1)

    def _leaf_key(self, form: int) -> int:
        """Return a leaf's key, odd when it scores."""
        key = self._key[form]
        if key < 0:
            leaf = self._kept[form]
            key = self._key[form] = self._keys.of(leaf) << 1 | can_score(leaf)
        return key
