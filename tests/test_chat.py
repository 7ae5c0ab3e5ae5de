"""The masked ids read back as the answers that the template shows and their ends of turn, whatever it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

import tiny
from tamis.chat import PLAIN_TEMPLATE, ChatRenderer, Example, Message, RowError
from tamis.errors import UsageError

DEFAULT_SYSTEM = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nYou answer the user.<|im_end|>\n{% endif %}"
    + tiny.CHATML
)
GENERATION = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}"
    "{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}"
    "{{ '\n' }}{% endfor %}"
)
HEADERS = (
    "{{ bos_token }}{% for m in messages %}<|head|>{{ m.role }}<|tail|>\n\n{{ m.content | trim }}<|eot|>"
    "{% endfor %}"
)
INST = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content | trim }} [/INST]"
    "{% elif m.role == 'system' %}<<SYS>> {{ m.content | trim }} <</SYS>> "
    "{% else %} {{ m.content | trim }} {{ eos_token }}{% endif %}{% endfor %}"
)
MODEL = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('No system role, please') }}{% endif %}"
    "<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n{{ m.content | trim }}<end_of_turn>\n"
    "{% endfor %}"
)
THINK = """
{%- set ns = namespace(asked=0) -%}
{%- for m in messages if m.role == 'user' -%}{%- set ns.asked = messages.index(m) -%}{%- endfor -%}
{%- for m in messages -%}
    {{- '<|im_start|>' + m.role + '\\n' -}}
    {%- if m.role != 'assistant' -%}
        {{- m.content -}}
    {%- else -%}
        {%- set parts = m.content.split('</think>') -%}
        {%- set thought = parts[0].split('<think>')[-1].strip('\\n') if parts | length > 1 else '' -%}
        {%- if loop.last -%}{{- '<think>\\n' + thought + '\\n</think>\\n\\n' -}}{%- endif -%}
        {{- parts[-1].lstrip('\\n') -}}
    {%- endif -%}
    {{- '<|im_end|>\\n' -}}
{%- endfor -%}
"""
COUNTED = "{{ messages | length }} turns\n" + tiny.CHATML
FINAL = (
    "{% for m in messages %}<|im_start|>{{ 'final ' if loop.last and messages | length > 2 }}{{ m.role }}\n"
    "{{ m.content }}<|im_end|>{% if not loop.last %}\n{% endif %}{% endfor %}"
)
UPPER = tiny.CHATML.replace("message['content']", "message['content'] | upper")
TEXT_END = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ '\n###' if m.role == 'assistant' }}\n{% endfor %}"
)
NO_END = "{% for m in messages %}### {{ m.role }}:\n{{ m.content }}\n\n{% endfor %}"
TWO_ENDS = DEFAULT_SYSTEM + "{{ eos_token }}"
NEXT_IS_SPECIAL = "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}\n{% endfor %}"
LAST_ONLY = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{{ eos_token if loop.last else '\n' }}{% endfor %}"
)
NOT_LAST = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{{ eos_token + '\n' if not loop.last }}{% endfor %}"
)

CHATML_SPECIALS = ("<|im_start|>", "<|im_end|>")
ROLE_SPECIALS = ("<|bos|>", "<|eos|>", "<|user|>", "<|assistant|>", "<|system|>")

Shown = Callable[[str, bool], str]
"""What a template shows of an answer and its end of turn, given the answer and whether it is the last message."""


@dataclass(frozen=True)
class Family:
    template: str | None
    shown: Shown
    specials: tuple[str, ...] = CHATML_SPECIALS
    system: bool = True
    flags: frozenset[str] = frozenset()

    def tokenizer(self) -> PreTrainedTokenizerFast:
        return tiny.tokenizer(self.template, self.specials)


def ends(token: str, trims: bool = False) -> Shown:
    return lambda answer, last: (answer.strip() if trims else answer) + token


def thinks(answer: str, last: bool) -> str:
    return (answer if last else answer.rpartition("</think>")[2].lstrip("\n")) + "<|im_end|>"


FAMILIES = {
    "chatml": Family(tiny.CHATML, ends("<|im_end|>")),
    "default-system": Family(DEFAULT_SYSTEM, ends("<|im_end|>")),
    "generation-markers": Family(GENERATION, ends("<|im_end|>")),
    "headers": Family(HEADERS, ends("<|eot|>", trims=True), ("<|bos|>", "<|eot|>", "<|head|>", "<|tail|>")),
    "inst": Family(INST, ends(" </s>", trims=True), ("<s>", "</s>")),
    "inst-special": Family(INST, ends(" </s>", trims=True), ("<s>", "</s>", "[INST]", "[/INST]")),
    "model": Family(
        MODEL,
        ends("<end_of_turn>", trims=True),
        ("<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"),
        system=False,
    ),
    "think": Family(THINK, thinks),
    "counted": Family(COUNTED, ends("<|im_end|>")),
    "final": Family(FINAL, ends("<|im_end|>")),
    "two-ends": Family(TWO_ENDS, ends("<|im_end|>")),
    "upper": Family(UPPER, lambda answer, last: answer.upper() + "<|im_end|>"),
    "text-end": Family(TEXT_END, ends("\n###"), ("<s>", "</s>")),
    "no-end": Family(NO_END, ends(""), ("<s>", "</s>"), flags=frozenset({"no_end_of_turn"})),
    "next-is-special": Family(NEXT_IS_SPECIAL, ends(""), ROLE_SPECIALS, flags=frozenset({"no_end_of_turn"})),
    "plain": Family(None, ends("</s>"), ("<s>", "</s>")),
}


def chat(*turns: str, system: str | None = None) -> list[Message]:
    """User and assistant by turns, the user first."""
    messages = [{"role": "user" if i % 2 == 0 else "assistant", "content": text} for i, text in enumerate(turns)]
    return messages if system is None else [{"role": "system", "content": system}, *messages]


def read(tokenizer: PreTrainedTokenizerFast, ids: Iterable[int]) -> str:
    return str(tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))


def masked(tokenizer: PreTrainedTokenizerFast, example: Example) -> str:
    return read(tokenizer, (t for t, m in zip(example.input_ids, example.response_mask, strict=True) if m))


def rendered(tokenizer: PreTrainedTokenizerFast, messages: Sequence[Message]) -> str:
    template = tokenizer.chat_template or PLAIN_TEMPLATE
    return str(tokenizer.apply_chat_template(list(messages), tokenize=False, chat_template=template))


def runs(example: Example) -> list[list[int]]:
    """The ids cut wherever the mask changes."""
    pieces: list[list[int]] = []
    for i, (token, inside) in enumerate(zip(example.input_ids, example.response_mask, strict=True)):
        if i == 0 or inside != example.response_mask[i - 1]:
            pieces.append([])
        pieces[-1].append(token)
    return pieces


def edges(tokenizer: PreTrainedTokenizerFast, ids: Sequence[int]) -> set[int]:
    """Where tokens of a byte-level tokenizer end, in bytes: by their own length, without offsets."""
    at, seen = 0, set()
    for token in tokenizer.convert_ids_to_tokens(list(ids)):
        at += len(token)
        seen.add(at)
    return seen


def check(tokenizer: PreTrainedTokenizerFast, messages: Sequence[Message], expected: Sequence[str]) -> Example:
    """Masked ids read back as `expected`; all ids are those of the text, tokenised apart only where they must."""
    example = ChatRenderer(tokenizer).render(messages)
    text = rendered(tokenizer, messages)
    assert masked(tokenizer, example) == "".join(expected)
    assert read(tokenizer, example.input_ids) == text
    whole = tokenizer(text, add_special_tokens=False)["input_ids"]
    if example.input_ids != whole:
        pieces = runs(example)
        apart = [tokenizer(read(tokenizer, piece), add_special_tokens=False)["input_ids"] for piece in pieces]
        assert pieces == apart
        cuts, at = set(), 0
        for piece in pieces:
            at += len(read(tokenizer, piece).encode())
            cuts.add(at)
        assert not cuts <= edges(tokenizer, whole), "tokenised apart where no token straddles an edge"
    return example


CONVERSATIONS = {
    "one-turn": ["What is this?", "Some answer."],
    "two-turns": ["What is this?", "Some answer.", "And that?", "Another one, no?"],
    "many-turns": ["a", "b", "c", "d", "e", "f", "g", "h"],
    "same-as-the-question": ["yes", "yes", "yes", "yes"],
    "part-of-the-question": ["Say yes and then no, yes?", "yes", "Is yes the answer? yes", "yes"],
    "same-as-an-earlier-answer": ["Say it.", "The answer is no.", "Again.", "The answer is no."],
    "a-word-of-the-template": ["user", "assistant", "assistant", "user"],
    "other-words-of-the-template": ["system", "model", "turns", "final"],
    "same-as-the-header's-tail": ["a", "assistant\n\nassistant", "b", "t"],
    "the-header's-letters": ["a", "tt", "b", "nt and so on"],
    "the-header's-punctuation": ["a", ">\n>", "b", ": and : so"],
    "looks-like-a-marker": ["a", "\uf8d1", "\uf8d1tamis\uf8d2", "\uf8d1tamis\uf8d2 and on \uf8d1tamis\uf8d2"],
    "emoji": ["🎉?", "🎉", "👩‍👩‍👧 is what?", "👩‍👩‍👧🇫🇷e\u0301"],
    "many-bytes": ["你好", "你好，世界", "é", "éé à"],
    "one-character": [".", "\u00e9", "?", "."],
    "dots-and-commas": ["Is it , so ?", "I do n't know , do you ?", "And ?", "It 's so ."],
    "several-lines": ["What?", "one\n\ntwo\r\n\tthree", "And?", "- a\n- b"],
    "ends-of-other-templates": ["###", "### no", "</s", "[/INST] </ ###"],
}


SYSTEM = "The answer is yes or no, user."
WITH_SYSTEM = {
    f"{name}{'-system' if system else ''}": (family, system)
    for name, family in FAMILIES.items()
    for system in ([None, SYSTEM] if family.system else [None])
}


@pytest.mark.parametrize("turns", CONVERSATIONS.values(), ids=CONVERSATIONS)
@pytest.mark.parametrize(("family", "system"), WITH_SYSTEM.values(), ids=WITH_SYSTEM)
def test_masked_ids_are_the_answers_and_their_ends(family: Family, system: str | None, turns: list[str]) -> None:
    tokenizer, answers = family.tokenizer(), turns[1::2]
    expected = [family.shown(answer, i == len(answers) - 1) for i, answer in enumerate(answers)]
    example = check(tokenizer, chat(*turns, system=system), expected)
    changed = family is FAMILIES["upper"] and any(answer.upper() != answer for answer in answers)
    assert set(example.flags) == family.flags | ({"template_changed"} if changed else set())


@pytest.mark.parametrize(
    "answer", [" yes", "\nyes", "\n\nyes", "yes ", "yes\n\n", " \n yes \n ", "\tyes\u00a0", "yes\u3000"]
)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_white_space_at_the_edge_of_an_answer_stands_as_the_template_shows_it(family: Family, answer: str) -> None:
    shown = [family.shown(answer, False), family.shown("no", True)]
    example = check(family.tokenizer(), chat("What?", answer, "And?", "no"), shown)
    changed = shown[0] != answer + family.shown("", False) or family is FAMILIES["upper"]
    assert ("template_changed" in example.flags) == changed


def test_an_answer_tokenised_apart_keeps_its_own_tokens() -> None:
    tokenizer = tiny.tokenizer()
    messages = chat("What?", "\n\nyes")
    example = check(tokenizer, messages, ["\n\nyes<|im_end|>"])
    whole = tokenizer(rendered(tokenizer, messages), add_special_tokens=False)["input_ids"]
    straddling = tokenizer.convert_tokens_to_ids("ĊĊ")
    assert straddling in whole and straddling not in example.input_ids and not example.flags


@pytest.mark.parametrize(
    "special", ["<|im_end|>", "<|im_start|>", "<|im_start|>assistant\n", "<|im_end|>\n<|im_start|>user\n"]
)
@pytest.mark.parametrize("answer", ["{}", "a{}", "{}a", "{}{}", "a {} b"])
def test_an_answer_may_hold_special_tokens(special: str, answer: str) -> None:
    answer = answer.replace("{}", special)
    check(tiny.tokenizer(), chat("What?", answer, special, answer), [f"{answer}<|im_end|>"] * 2)


def test_pad_is_eos_and_the_mask_goes_by_position() -> None:
    tokenizer = tiny.tokenizer()
    assert tokenizer.pad_token_id == tokenizer.eos_token_id
    example = check(tokenizer, chat("<|im_end|>", "a", "b", "c", system="d"), ["a<|im_end|>", "c<|im_end|>"])
    positions = [i for i, token in enumerate(example.input_ids) if token == tokenizer.eos_token_id]
    assert [example.response_mask[i] for i in positions] == [False, False, False, True, False, True]


# Reasoning


@pytest.mark.parametrize("thought", ["Let me see.", "a\n\nb", "<think>", "yes", "assistant"])
def test_reasoning_is_dropped_from_earlier_turns_and_kept_in_the_last(thought: str) -> None:
    said = f"<think>\n{thought}\n</think>\n\nyes"
    if thought == "<think>":
        said = "<think>\nThe word think\n</think>\n\n<think> is a tag"
    example = check(
        tiny.tokenizer(THINK), chat("yes?", said, "no?", said), [thinks(said, False), thinks(said, True)]
    )
    assert example.flags == ("template_changed",)
    assert check(tiny.tokenizer(THINK), chat("yes?", said), [thinks(said, True)]).flags == ()


def test_reasoning_written_otherwise_is_labelled_as_shown() -> None:
    said = "<think>Let me see.</think>yes"
    example = check(tiny.tokenizer(THINK), chat("yes?", said), ["<think>\nLet me see.\n</think>\n\nyes<|im_end|>"])
    assert example.flags == ("template_changed",)


def test_the_empty_think_block_of_the_template_is_no_answer() -> None:
    tokenizer = tiny.tokenizer(THINK)
    example = check(tokenizer, chat("a", "yes", "b", "yes"), ["yes<|im_end|>", "yes<|im_end|>"])
    assert "<think>\n\n</think>\n\nyes" in read(tokenizer, example.input_ids) and not example.flags


# Templates that show something else


def test_a_changed_answer_never_takes_in_the_header() -> None:
    """The header's last letter is the answer's first: they are not the answer's."""
    for answer in ("t", "tell me", "tT", "nt", "ANT", "assistant"):
        check(tiny.tokenizer(UPPER), chat("What?", answer), [f"{answer.upper()}<|im_end|>"])


@pytest.mark.parametrize(
    ("change", "answer", "shown"),
    [
        ("content[:5]", "a long answer", "a lon"),
        ("content[::-1]", "straw", "warts"),
        ("content | replace('a', 'b')", "banana", "bbnbnb"),
        ("content | title", "tell me", "Tell Me"),
        ("content + ' (said)'", "yes", "yes"),
        ("'Well: ' + content", "yes", "yes"),
    ],
)
def test_a_template_may_change_answers(change: str, answer: str, shown: str) -> None:
    template = (
        "{% for m in messages %}{% set content = m.content %}<|im_start|>{{ m.role }}\n"
        f"{{{{ ({change}) if m.role == 'assistant' else content }}}}<|im_end|>\n{{% endfor %}}"
    )
    example = ChatRenderer(tiny.tokenizer(template)).render(chat("What?", answer))
    text = masked(tiny.tokenizer(template), example)
    assert text.startswith(shown) and text in (f"{shown}<|im_end|>", f"{shown} (said)<|im_end|>", shown)
    assert ("template_changed" in example.flags) == (answer != shown)


@pytest.mark.parametrize("answers", [["yes"], ["yes", "no"], ["\nyes ", "length"]])
def test_the_top_may_depend_on_what_is_said(answers: list[str]) -> None:
    template = "{{ messages | map(attribute='content') | join | length }} characters\n" + tiny.CHATML
    turns = [turn for answer in answers for turn in ("What is the length of this?", answer)]
    assert not check(tiny.tokenizer(template), chat(*turns), [f"{answer}<|im_end|>" for answer in answers]).flags


def test_what_follows_an_answer_may_not_depend_on_it() -> None:
    template = tiny.CHATML + "{{ messages | map(attribute='content') | join | length }} characters"
    with pytest.raises(RowError, match="what follows an answer depend on it"):
        ChatRenderer(tiny.tokenizer(template)).render(chat("What is the length of this?", "a long answer"))


def test_an_answer_shown_twice_is_refused() -> None:
    template = "{{ messages[-1].content }}\n" + tiny.CHATML
    with pytest.raises(RowError, match="shows an answer more than once"):
        ChatRenderer(tiny.tokenizer(template)).render(chat("What?", "yes"))


def test_a_turn_the_template_hides_is_not_labelled() -> None:
    template = (
        "{% for m in messages %}{% if loop.index0 != 1 %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>"
        "{% endif %}{% endfor %}"
    )
    tokenizer = tiny.tokenizer(template)
    example = check(tokenizer, chat("yes?", "yes", "no?", "no"), ["no<|im_end|>"])
    assert example.flags == ("template_changed",)
    with pytest.raises(RowError, match="empty answer"):
        ChatRenderer(tokenizer).render(chat("yes?", "yes"))


# The end of a turn


def test_the_next_turn_is_not_an_end_of_turn() -> None:
    family = FAMILIES["next-is-special"]
    check(family.tokenizer(), chat("a", "yes", "b", "no", "c"), ["yes", "no"])


def test_an_end_of_turn_after_the_last_turn_only() -> None:
    tokenizer = tiny.tokenizer(LAST_ONLY, ROLE_SPECIALS)
    example = check(tokenizer, chat("a", "yes", "b", "no"), ["yes", "no<|eos|>"])
    assert example.flags == ("no_end_of_turn",)


def test_an_end_of_turn_after_all_but_the_last_turn() -> None:
    tokenizer = tiny.tokenizer(NOT_LAST, ROLE_SPECIALS)
    example = check(tokenizer, chat("a", "yes", "b", "no"), ["yes<|eos|>", "no"])
    assert example.flags == ("no_end_of_turn",)


@pytest.mark.parametrize("condition", ["messages[0].role != 'system'", "messages | length > 3"])
@pytest.mark.parametrize("base", [tiny.CHATML, TEXT_END.replace("\n###", "<|im_end|>")])
def test_the_end_of_turn_is_found_where_a_template_refuses_most_conversations(condition: str, base: str) -> None:
    template = f"{{% if {condition} %}}{{{{ raise_exception('not this one') }}}}{{% endif %}}" + base
    assert not check(tiny.tokenizer(template), chat("a", "b", system="c"), ["b<|im_end|>"]).flags


def test_a_special_token_that_takes_the_space_after_it_is_an_end_of_turn() -> None:
    tokenizer = tiny.tokenizer(tiny.CHATML, ("<s>", "</s>"))
    greedy = AddedToken("<|im_end|>", rstrip=True, special=True)
    tokenizer.add_special_tokens({"additional_special_tokens": [AddedToken("<|im_start|>"), greedy]})
    example = ChatRenderer(tokenizer).render(chat("a", "yes", "b", "no"))
    text = rendered(tokenizer, chat("a", "yes", "b", "no"))
    assert example.input_ids == tokenizer(text, add_special_tokens=False)["input_ids"]
    assert masked(tokenizer, example) == "yes<|im_end|>no<|im_end|>" and not example.flags


# Tools


CALL = {"type": "function", "function": {"name": "look", "arguments": {"at": "this"}}}
TOOLS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.tool_calls is defined %}"
    "{% if m.content %}{{ m.content }}\n{% endif %}"
    "{% for c in m.tool_calls %}<call>{{ c.function | tojson }}</call>{% endfor %}"
    "{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
)
CALLED = '<call>{"name": "look", "arguments": {"at": "this"}}</call>'


def tool_chat(content: str | None = None) -> list[Message]:
    return [
        {"role": "user", "content": "Look at this.", "tool_calls": None},
        {"role": "assistant", "content": content, "tool_calls": [CALL]},
        {"role": "tool", "content": "It is this.", "tool_calls": None, "name": "look"},
        {"role": "assistant", "content": "It is this.", "tool_calls": None},
    ]


@pytest.mark.parametrize(
    ("content", "shown"), [(None, CALLED), ("Wait.", f"Wait.\n{CALLED}"), ("look", f"look\n{CALLED}")]
)
def test_calls_are_answers_and_tool_turns_are_not(content: str | None, shown: str) -> None:
    example = check(tiny.tokenizer(TOOLS), tool_chat(content), [f"{shown}<|im_end|>", "It is this.<|im_end|>"])
    assert example.flags == ()
    check(tiny.tokenizer(TOOLS), tool_chat(content)[:2], [f"{shown}<|im_end|>"])


@pytest.mark.parametrize("otherwise", ["{{ raise_exception('a tool turn follows a call') }}", "stray "])
def test_a_template_may_treat_a_tool_turn_without_a_call_otherwise(otherwise: str) -> None:
    condition = "m.role == 'tool' and messages[loop.index0 - 1].tool_calls is not defined"
    stray = f"{{% if {condition} %}}{otherwise}{{% endif %}}"
    tokenizer = tiny.tokenizer(TOOLS.replace("{{ m.role }}", stray + "{{ m.role }}"))
    check(tokenizer, tool_chat(), [f"{CALLED}<|im_end|>", "It is this.<|im_end|>"])


@pytest.mark.parametrize("template", [None, tiny.CHATML], ids=["plain", "chatml"])
def test_a_template_that_knows_no_calls_labels_nothing_for_them(template: str | None) -> None:
    tokenizer = tiny.tokenizer(template)
    example = ChatRenderer(tokenizer).render(tool_chat())
    assert masked(tokenizer, example) == "It is this.<|im_end|>"
    assert example.flags == ("template_changed",)
    with pytest.raises(RowError, match="empty answer"):
        ChatRenderer(tokenizer).render(tool_chat()[:2])


# No template, several templates, tokens added by the tokenizer


def adds_specials(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """The tokenizer, which now puts BOS before and EOS behind every text that it is not told to leave alone."""
    bos, eos = (tokenizer.bos_token, tokenizer.bos_token_id), (tokenizer.eos_token, tokenizer.eos_token_id)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos[0]} $A {eos[0]}", special_tokens=[bos, eos]
    )
    assert tokenizer("a")["input_ids"][0] == bos[1] and tokenizer("a")["input_ids"][-1] == eos[1]
    return tokenizer


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_no_special_token_is_added_to_a_rendered_template(family: Family) -> None:
    messages = chat("What is this?", "An answer.", "And that?", "Another.")
    example = ChatRenderer(adds_specials(family.tokenizer())).render(messages)
    without = ChatRenderer(family.tokenizer()).render(messages)
    start = [family.tokenizer().bos_token_id] if family.template is None else []
    assert example.input_ids == start + without.input_ids
    assert example.response_mask == [False] * len(start) + without.response_mask


def test_without_a_template_the_documented_format_is_used() -> None:
    tokenizer = tiny.tokenizer(None, ("<s>", "</s>"))
    example = check(tokenizer, chat("a", "b", "c", "d", system="e"), ["b</s>", "d</s>"])
    assert read(tokenizer, example.input_ids) == (
        "System: e\n\nUser: a\n\nAssistant: b</s>\n\nUser: c\n\nAssistant: d</s>\n\n"
    )
    assert read(tokenizer, ChatRenderer(adds_specials(tokenizer)).render(chat("a", "b")).input_ids) == (
        "<s>User: a\n\nAssistant: b</s>\n\n"
    )


def test_without_an_end_token_the_plain_format_has_no_end_of_turn() -> None:
    tokenizer = tiny.tokenizer(None, ("<s>", "</s>"))
    tokenizer.eos_token = None
    assert check(tokenizer, chat("a", "b", "c", "d"), ["b", "d"]).flags == ("no_end_of_turn",)


def test_of_several_templates_the_default_is_used() -> None:
    tokenizer = tiny.tokenizer()
    expected, digest = ChatRenderer(tokenizer).render(chat("a", "b")), ChatRenderer(tokenizer).digest
    tokenizer.chat_template = cast(Any, {"tool_use": TOOLS, "default": tiny.CHATML})
    assert ChatRenderer(tokenizer).render(chat("a", "b")) == expected
    assert ChatRenderer(tokenizer).digest == digest
    tokenizer.chat_template = cast(Any, {"tool_use": TOOLS, "rag": UPPER})
    with pytest.raises(UsageError, match=r"none of its chat templates \(rag, tool_use\) is the default"):
        ChatRenderer(tokenizer)


def test_the_digest_names_the_template() -> None:
    digests = {ChatRenderer(family.tokenizer()).digest for family in FAMILIES.values()}
    assert len(digests) == len({family.template for family in FAMILIES.values()})


# Tokenizers of other kinds


def test_a_slow_tokenizer_is_refused() -> None:
    slow = SimpleNamespace(is_fast=False, name_or_path="some/slow")
    with pytest.raises(UsageError, match="some/slow: the tokenizer has no offsets"):
        ChatRenderer(cast(Any, slow))


def test_a_token_with_a_part_of_a_character_of_either_side_is_split() -> None:
    first, last = "\u00c3\u00a9"  # the two bytes of an e with an accent, as a byte-level vocabulary writes them
    vocab = {token: i for i, token in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), last + first])}
    bpe = Tokenizer(models.BPE(vocab, [(last, first)]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe)
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m.role }}é{{ m.content }}{{ 'é' if m.role == 'assistant' }}{% endfor %}"
    )
    example = check(tokenizer, chat("é", "é", "éé", "éaé"), ["éé", "éaéé"])
    assert last + first in tokenizer.convert_ids_to_tokens(example.input_ids) and not example.flags


@pytest.mark.parametrize("name", ["chatml", "inst", "text-end", "plain"])
def test_offsets_may_leave_out_a_leading_space(name: str) -> None:
    family = FAMILIES[name]
    tokenizer = family.tokenizer()
    tokenizer.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    expected = [family.shown(" yes and", False), family.shown("the answer", True)]
    example = check(tokenizer, chat("What?", " yes and", "the", "the answer"), expected)
    assert "boundary" not in example.flags


def test_a_tokenizer_that_tidies_what_it_decodes_is_split_like_any_other() -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.clean_up_tokenization_spaces = True
    example = ChatRenderer(tokenizer).render(chat("Is it , so ?", "\n\nI do n't know , do you ?"))
    assert masked(tokenizer, example) == "\n\nI do n't know , do you ?<|im_end|>" and not example.flags


def metaspace(kind: str, template: str | None, specials: tuple[str, ...]) -> PreTrainedTokenizerFast:
    """A tokenizer that puts a space before a text, as sentencepiece does."""
    bpe = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    if kind == "prepend-normalizer":
        bpe.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        bpe.decoder = decoders.Sequence(
            [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
    else:
        bpe.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=kind)
        bpe.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme=kind)])
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<unk>", *specials, *bytes_], show_progress=False
    )
    words = (
        "user: assistant: system model [INST] [/INST] the answer is yes and the question was no\n\n### What? Some."
    )
    bpe.train_from_iterator([words, *words.split(" ")] * 4, trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token=specials[0],
        eos_token=specials[1],
        unk_token="<unk>",
        pad_token=specials[1],
    )
    made.chat_template = template
    return made


@pytest.mark.parametrize(
    "turns", [["What?", "Some yes."], ["no", "yes", "yes", "the answer"], ["a", " yes", "b", "éz 🎉"]]
)
@pytest.mark.parametrize(
    "name", ["chatml", "headers", "inst", "inst-special", "model", "text-end", "no-end", "plain"]
)
@pytest.mark.parametrize("kind", ["always", "first", "never", "prepend-normalizer"])
def test_a_sentencepiece_tokenizer_is_right_or_flagged(kind: str, name: str, turns: list[str]) -> None:
    family = FAMILIES[name]
    tokenizer = metaspace(kind, family.template, family.specials)
    messages = chat(*turns)
    example = ChatRenderer(tokenizer).render(messages)
    whole = tokenizer(rendered(tokenizer, messages), add_special_tokens=False)["input_ids"]
    assert read(tokenizer, example.input_ids) == read(tokenizer, whole)
    if "boundary" in example.flags:
        assert example.input_ids == whole
    # A tokenizer of this kind reads the first space of any ids as its own.
    labelled = runs(example)[1::2]
    assert [read(tokenizer, ids).strip() for ids in labelled] == [
        family.shown(a, False).strip() for a in turns[1::2]
    ]


# The window


def window(messages: Sequence[Message], max_length: int) -> tuple[Example, Example]:
    """A conversation cut to a window, and whole."""
    tokenizer = tiny.tokenizer()
    return ChatRenderer(tokenizer, max_length).render(messages), ChatRenderer(tokenizer).render(messages)


def is_slice(cut: Example, whole: Example, begin: int) -> bool:
    end = begin + len(cut.input_ids)
    return (cut.input_ids, cut.response_mask) == (whole.input_ids[begin:end], whole.response_mask[begin:end])


def test_a_long_prompt_is_cut_from_the_left_and_the_answer_stays_whole() -> None:
    cut, whole = window(chat("What is this? " * 50, "yes and no"), 40)
    assert len(cut.input_ids) == 40 and cut.flags == ("truncated",)
    assert is_slice(cut, whole, len(whole.input_ids) - 40)
    assert sum(cut.response_mask) == sum(whole.response_mask)


def test_an_answer_longer_than_the_window_keeps_its_first_tokens_and_one_before() -> None:
    cut, whole = window(chat("What is this?", "yes and no " * 50), 40)
    assert len(cut.input_ids) == 40 and cut.flags == ("truncated",)
    assert is_slice(cut, whole, whole.response_mask.index(True) - 1)
    assert cut.response_mask == [False] + [True] * 39


def test_the_first_answer_is_kept_of_several() -> None:
    cut, whole = window(chat("a " * 30, "yes " * 10, "b " * 30, "no " * 10), 60)
    assert is_slice(cut, whole, whole.response_mask.index(True) - 1) and cut.flags == ("truncated",)
    cut, whole = window(chat("a " * 90, "yes " * 3, "b", "no " * 3), 60)
    assert is_slice(cut, whole, len(whole.input_ids) - 60) and sum(cut.response_mask) == sum(whole.response_mask)


@pytest.mark.parametrize("turns", [["What is this?", "yes"], ["a", "yes", "b", "no " * 9]])
def test_what_just_fits_is_not_truncated(turns: list[str]) -> None:
    length = len(window(chat(*turns), 1000)[1].input_ids)
    for room in (0, 1):
        cut, whole = window(chat(*turns), length + room)
        assert cut == whole and not cut.flags
    cut, whole = window(chat(*turns), length - 1)
    assert len(cut.input_ids) == length - 1 and is_slice(cut, whole, 1) and cut.flags == ("truncated",)


def test_a_window_of_two_holds_one_supervised_token() -> None:
    cut, _ = window(chat("What is this?", "yes"), 2)
    assert cut.response_mask == [False, True]


def test_an_answer_at_the_very_start_never_leaves_a_window_without_supervision() -> None:
    tokenizer = tiny.tokenizer("{% for m in messages %}{{ m.content }}\n{% endfor %}")
    messages: list[Message] = [{"role": "assistant", "content": "."}, *chat("what " * 30, "yes")]
    cut = ChatRenderer(tokenizer, 8).render(messages)
    assert any(cut.response_mask[1:]) and masked(tokenizer, cut).endswith("yes")


@pytest.mark.parametrize("max_length", [1, 0, -1])
def test_a_window_below_two_is_refused(max_length: int) -> None:
    with pytest.raises(UsageError, match=f"--max_length {max_length}: has to be at least 2"):
        ChatRenderer(tiny.tokenizer(), max_length)


# Rows without anything to learn


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "no assistant turn"),
        (chat("What?"), "no assistant turn"),
        (chat("What?", system="yes"), "no assistant turn"),
        (chat("What?", ""), "empty answer"),
        (chat("What?", " \n\t\u00a0"), "empty answer"),
        (chat("What?", "", "Again?", "\n"), "empty answer"),
        ([{"role": "user", "content": "What?"}, {"role": "assistant", "content": None}], "empty answer"),
    ],
)
@pytest.mark.parametrize("name", ["chatml", "headers", "inst", "plain", "no-end"])
def test_a_row_without_an_answer_is_refused_with_its_reason(
    messages: list[Message], reason: str, name: str
) -> None:
    with pytest.raises(RowError, match=reason):
        ChatRenderer(FAMILIES[name].tokenizer()).render(messages)


def test_an_answer_without_a_token_before_it_is_refused() -> None:
    tokenizer = tiny.tokenizer("{% for m in messages %}{{ m.content }}{% endfor %}")
    with pytest.raises(RowError, match="no supervised token with one before it"):
        ChatRenderer(tokenizer).render([{"role": "assistant", "content": "a"}])


@pytest.mark.parametrize("name", ["chatml", "think", "text-end"])
def test_an_empty_answer_among_others_is_left_out(name: str) -> None:
    family = FAMILIES[name]
    check(family.tokenizer(), chat("a", " ", "b", "yes"), [family.shown("yes", True)])


def test_a_template_that_refuses_says_why() -> None:
    with pytest.raises(RowError, match="No system role, please"):
        ChatRenderer(FAMILIES["model"].tokenizer()).render(chat("a", "b", system="c"))


@pytest.mark.parametrize(
    "template", ["{{ messages[0].content + 1 }}", "{{ messages.nothing.at.all }}", "{{ 1 // 0 }}"]
)
def test_a_template_that_breaks_is_a_fault_of_the_row(template: str) -> None:
    with pytest.raises(RowError, match=r"the chat template refuses it: \S"):
        ChatRenderer(tiny.tokenizer(template)).render(chat("a", "b"))


def test_half_a_character_is_a_fault_of_the_row() -> None:
    with pytest.raises(RowError, match="not Unicode text"):
        ChatRenderer(tiny.tokenizer()).render(chat("a", "b\ud83d"))


# Whatever people write

TEXT = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from(" \n\t.,'aesui<>|_你é🎉\u200d\ufe0f\u00a0\u0301\uf8d1\uf8d2"),
    min_size=1,
    max_size=12,
)
EXCHANGES = st.lists(st.tuples(TEXT, TEXT.filter(lambda text: bool(text.strip()))), min_size=1, max_size=4)
CHATML = tiny.tokenizer()


@given(EXCHANGES, st.integers(2, 120))
@settings(max_examples=300, deadline=None)
def test_any_conversation_in_any_window(exchanges: list[tuple[str, str]], max_length: int) -> None:
    messages = chat(*(turn for exchange in exchanges for turn in exchange))
    whole = check(CHATML, messages, [f"{answer}<|im_end|>" for _, answer in exchanges])
    assert not whole.flags
    cut = ChatRenderer(CHATML, max_length).render(messages)
    if len(whole.input_ids) <= max_length:
        assert cut == whole
        return
    first = whole.response_mask.index(True)
    begin = min(len(whole.input_ids) - max_length, first - 1)
    assert cut.flags == ("truncated",) and len(cut.input_ids) == max_length
    assert is_slice(cut, whole, begin) and cut.response_mask[first - begin]


@pytest.mark.parametrize(
    ("template", "ends"),
    [
        (
            f"{tiny.CHATML}{{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}",
            "<|im_start|>assistant\n",
        ),
        (None, "User: question\n\nAssistant:"),
    ],
)
def test_a_prompt_ends_where_the_answer_begins(template: str | None, ends: str) -> None:
    tokenizer = tiny.tokenizer(template)
    ids = ChatRenderer(tokenizer).prompt(chat("question"))
    assert tokenizer.decode(ids).endswith(ends)
