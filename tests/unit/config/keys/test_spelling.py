from hypothesis import given
from hypothesis import strategies as st

from floe.config.keys.spelling import begins_near, is_near, may_be_near, pairs

KNOWN = "tasks.max.enforce"
EDITS = st.tuples(st.sampled_from("idrs"), st.integers(0, len(KNOWN) - 2), st.sampled_from("abz."))


def edited(text, edit):
    kind, place, character = edit
    head, tail = text[:place], text[place:]
    match kind:
        case "i":
            return head + character + tail
        case "d":
            return head + tail[1:]
        case "r":
            return head + character + tail[1:]
    return head + tail[1:2] + tail[:1] + tail[2:]


@given(st.lists(EDITS, max_size=2))
def test_two_edits_are_always_near(edits):
    text = KNOWN
    for edit in sorted(edits, key=lambda edit: -edit[1]):
        text = edited(text, edit)
    if len(edits) < 2 or abs(edits[0][1] - edits[1][1]) > 2:  # edits of one place are not two of this kind
        assert is_near(text, KNOWN)
        assert may_be_near(pairs(text), pairs(KNOWN))
        assert begins_near(text + ".rest", KNOWN)


def test_three_edits_are_not_near():
    assert is_near("taks.mxa.enforce", KNOWN)
    assert not is_near("taks.mxa.enforec", KNOWN)


def test_a_short_name_takes_one_edit_only():
    assert is_near("nmae", "name")
    assert not is_near("mode", "name")


@given(st.text(max_size=300))
def test_any_text_can_be_compared(text):
    assert begins_near(text, KNOWN) or not is_near(text, KNOWN)
