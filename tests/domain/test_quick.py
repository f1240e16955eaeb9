"""Quickly made values are frozen dataclasses like all others."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from bridge.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Point:
    """Its first field has the name that is given to kinds elsewhere."""

    kind: str
    x: float
    y: float = 0.0
    marks: list[str] = field(default_factory=list)


def test_it_is_made_as_any_dataclass_is() -> None:
    point = Point("corner", x=1.0)
    assert (point.kind, point.x, point.y, point.marks) == ("corner", 1.0, 0.0, [])
    assert type(point) is Point
    assert repr(point) == "Point(kind='corner', x=1.0, y=0.0, marks=[])"


def test_each_has_defaults_of_its_own() -> None:
    Point("corner", 1.0).marks.append("seen")
    assert Point("corner", 1.0).marks == []
    assert Point("corner", 1.0, 2.0, ["given"]).marks == ["given"]


def test_it_cannot_be_changed() -> None:
    point = Point("corner", 1.0)
    with pytest.raises(FrozenInstanceError):
        point.x = 2.0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert point == Point("corner", 1.0)


def test_what_is_missing_and_what_is_too_much_is_told() -> None:
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required positional argument: 'x'"):
        Point("corner")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point("corner", 1.0, z=1.0)  # type: ignore[call-arg]


def test_it_is_replaced_and_copied() -> None:
    point = Point("corner", 1.0, marks=["seen"])
    assert replace(point, y=2.0) == Point("corner", 1.0, 2.0, ["seen"])
    for same in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert same == point
        assert type(same) is Point
