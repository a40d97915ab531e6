"""Which small changes of a module there are: each is a way in which it could be wrong, and that a test should notice.

Changed are comparisons, `and`, `or` and `not`, conditions, constants, arithmetic, what is returned, and whether a
statement is there at all. Left alone are annotations, docstrings, decorators, and the texts of exceptions and of the
log: no program depends on them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


class Mutant(NamedTuple):
    """A module with one change, in *line*; *change* says which."""

    line: int
    change: str
    tree: ast.Module


def mutants(source: str) -> Iterator[Mutant]:
    """Yield each of the changes of a module's *source*, in the order in which they stand there."""
    number = 0
    while True:
        changing = _Changing(number)
        tree = changing.visit(ast.parse(source))
        if changing.made is None:
            return
        yield Mutant(*changing.made, ast.fix_missing_locations(tree))
        number += 1


class _Changing(ast.NodeTransformer):
    """Makes the change of one *number*, and says in `made` where it was and which."""

    def __init__(self, number: int) -> None:
        self._left = number
        self._quiet = 0
        self.made: tuple[int, str] | None = None

    def _is_due(self, node: ast.AST, change: str) -> bool:
        self._left -= 1
        if self._left != -1:
            return False
        self.made = getattr(node, "lineno", 0), change
        return True

    # -- what is left alone --

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args.defaults = [self.visit(each) for each in node.args.defaults]
        node.args.kw_defaults = [each and self.visit(each) for each in node.args.kw_defaults]
        node.body = self._statements(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = self._statements(node.body)
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:
        node.body = self._statements(node.body)
        return node

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [each if _is_text(each) else self.visit(each) for each in body]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    # -- what is changed --

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for place, operator in enumerate(node.ops):
            other = _COMPARED[type(operator)]
            if self._is_due(node, f"{type(operator).__name__} becomes {other.__name__}"):
                node.ops[place] = other()
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        other = ast.And if isinstance(node.op, ast.Or) else ast.Or
        if self._is_due(node, f"{type(node.op).__name__} becomes {other.__name__}"):
            node.op = other()
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not) and self._is_due(node, "Not goes"):
            return node.operand
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        other = _COMPUTED.get(type(node.op))
        if other is not None and self._is_due(node, f"{type(node.op).__name__} becomes {other.__name__}"):
            node.op = other()
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._conditional(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._conditional(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._conditional(node)

    def _conditional(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        is_plain = not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant)
        if is_plain and self._is_due(node, "the condition is negated"):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        other: object
        match node.value:
            case bool():
                other = not node.value
            case int() | float():
                other = node.value + 1
            case str() if not self._quiet:
                other = node.value + "mutant"
            case bytes():
                other = node.value + b"mutant"
            case _:
                return node
        if self._is_due(node, f"{node.value!r:.40} becomes {other!r:.40}"):
            return ast.copy_location(ast.Constant(other), node)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        if node.value is not None and not is_none and self._is_due(node, "None is returned"):
            node.value = ast.Constant(None)
            return node
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if self._is_due(node, "nothing is raised"):
            return ast.copy_location(ast.Pass(), node)
        self._quiet += 1
        self.generic_visit(node)
        self._quiet -= 1
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        # Who makes an exception, or a line of the log, gives it a text.
        name = ast.unparse(node.func).rpartition(".")[2]
        is_text = name in _LOGGED or (name[:1].isupper() and name not in ("RelPath", "Constant"))
        self._quiet += is_text
        self.generic_visit(node)
        self._quiet -= is_text
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return self._statement(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return self._statement(node)

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return self._statement(node)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return self._statement(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        # Without one of another kind, its name would not be there, which everything notices.
        is_kept = all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets)
        return self._statement(node) if is_kept else self.generic_visit(node)

    def _statement(self, node: ast.stmt) -> ast.AST:
        if not _is_text(node) and self._is_due(node, "the statement goes"):
            return ast.copy_location(ast.Pass(), node)
        return node if _is_text(node) else self.generic_visit(node)


_LOGGED = frozenset({"debug", "info", "warning", "error", "exception"})


def _is_text(node: ast.stmt) -> bool:
    """Say whether a statement is a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
