"""Spaces and architectures as values."""

import copy
import pickle

import pytest

import pada

TEXT = "|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_3x3~1|skip_connect~2|"


def test_spaces_say_what_they_are(space):
    assert "nb201" in pada.spaces() and len(pada.spaces()) >= 4
    assert space.name == "nb201" and space.classes == 10 and space.image_size == 16
    assert space.flags == ("--space", "nb201", "--channels", "4", "--cells", "1")
    assert len(space.slots) == 6 and "nor_conv_3x3" in space.slots[0]
    assert space.networks == 5 ** 6
    assert "naslib" in space.dialects
    assert "15625 networks" in space._repr_html_() and "nb201" in repr(space)


@pytest.mark.parametrize("name", pada.spaces())
def test_every_space_has_networks(name):
    space = pada.Space(name)
    arch = space.random(7)
    assert space.parse(str(arch)) == arch
    assert arch.canonical().canonical() == arch.canonical()
    assert arch.cost.macs > 0 and arch.cost.params > 0
    assert len(arch.labels) == len(arch.choices) == len(space.slots)
    assert pickle.loads(pickle.dumps(arch)) == arch
    assert arch._repr_svg_().startswith("<svg ") and arch.to("text").count("\n") > 2


def test_architectures_are_values(space):
    arch = space.parse(TEXT)
    assert str(arch) == TEXT and arch.to("list") == "[3,3,4,1,3,1]" and arch.choices == (3, 3, 4, 1, 3, 1)
    same = space.parse("3,3,4,1,3,1", "list")
    assert arch == same and hash(arch) == hash(same) and len({arch, same}) == 1
    assert arch != space.random(1) and arch != TEXT
    assert pada.Architecture(space, [3, 3, 4, 1, 3, 1]) == arch
    for other in (pickle.loads(pickle.dumps(arch)), copy.deepcopy(arch), copy.copy(arch)):
        assert other == arch and other.cost == arch.cost
    with pytest.raises(AttributeError):
        arch.choices = (0,) * 6
    assert arch.to("text").startswith("node 1 = nor_conv_3x3(input)") and arch.to("dot").startswith("digraph")
    assert arch.labels[2] == "avg_pool_3x3"


def test_jupyter_draws_cells(space):
    drawing = space.parse(TEXT)._repr_svg_()
    assert drawing == space.parse(TEXT).to("svg") and drawing.startswith("<svg ") and drawing.count("nor_conv_3x3") >= 3


def test_the_same_seed_draws_the_same(space):
    assert [space.random(5, i) for i in range(9)] == [space.random(5, i) for i in range(9)]
    sample = space.sample(50, seed=2)
    assert len({arch.canonical() for arch in sample}) == 50
    assert space.sample(20, seed=2) == sample[:20]
    assert space.sample(0) == []


def test_sizes_belong_to_a_space(space):
    other = pada.Space("nb201", channels=8, cells=1, image_size=16)
    assert other != space and other == pada.Space("nb201", channels=8, cells=1, image_size=16)
    assert other.random(1) != space.random(1) and other.random(1).cost.macs > space.random(1).cost.macs


@pytest.mark.parametrize("arguments, message", [
    ({"name": "nb210"}, "did you mean 'nb201'"),
    ({"channels": -1}, "channels"),
    ({"chanels": 4}, "channels"),
    ({"classes": -3}, "classes"),
    ({"image_size": 1 << 40}, "image_size"),
    ({"name": "nb201\0x"}, "zero character"),
])
def test_wrong_spaces_are_refused(arguments, message):
    with pytest.raises(pada.UsageError, match=message) as caught:
        pada.Space(**arguments)
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)


@pytest.mark.parametrize("arguments", [{"name": 3}, {"classes": "ten"}, {"classes": 1.5}, {"channels": object()},
                                       {"channels": []}])
def test_wrong_types_are_refused(arguments):
    with pytest.raises(TypeError):
        pada.Space(**arguments)


def test_wrong_architectures_are_refused(space):
    for text in ("", "nonsense", TEXT + TEXT, "3,3,4,1,3,9"):
        with pytest.raises(pada.UsageError):
            space.parse(text)
    for choices in ([], [0] * 5, [0] * 7, [0, 0, 0, 0, 0, 5], [0, 0, 0, 0, 0, -1], [1 << 70] * 6):
        with pytest.raises(pada.UsageError):
            pada.Architecture(space, choices)
    for wrong in (None, 3, "abcdef"):
        with pytest.raises(TypeError):
            pada.Architecture(space, wrong)
    with pytest.raises(TypeError):
        pada.Architecture(None, [0] * 6)
    with pytest.raises(pada.UsageError):
        space.random(1).to("png")
    for n in (-1, 10 ** 9):
        with pytest.raises(pada.UsageError):
            space.sample(n)
    for seed in (-1, 1 << 64):
        with pytest.raises(pada.UsageError):
            space.random(seed)


def test_everything_has_a_docstring():
    import inspect

    for name in pada.__all__:
        thing = getattr(pada, name)
        assert inspect.getdoc(thing), name
        for member in vars(thing) if inspect.isclass(thing) else ():
            described = getattr(thing, member)
            if not member.startswith("_") and (callable(described) or isinstance(described, property)):
                assert inspect.getdoc(described), f"{name}.{member}"
