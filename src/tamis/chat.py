"""The one place that turns a conversation into token ids and a response mask.

The mask is found by asking the template itself: the conversation is rendered once as it is, and once for every
assistant turn with that turn's text replaced by a marker. What differs between the two texts is the turn as the
template shows it, wherever its words stand elsewhere and whatever the template trims, moves or drops. No
generation markers are needed, and no prefix of the conversation has to render to a prefix of the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tamis.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Message = dict[str, Any]

PLAIN_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] | capitalize }}: {{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{{ '\n\n' }}{% endfor %}"
)
"""What a tokenizer without a template gets: `User: ...`, `Assistant: ...<eos>`, a blank line between turns."""

# Private-use characters: no template trims them or changes their case, and one alone survives a cut.
_MARKERS = [chr(code) for code in range(0xF8D1, 0xE000, -1)]


class RowError(ValueError):
    """A row has nothing that can be supervised; the message is the reason that stands beside its id."""


@dataclass(frozen=True)
class Example:
    """A conversation as token ids.

    Attributes:
        input_ids: The tokens of the rendered conversation, cut to the window.
        response_mask: One boolean a token: True for the tokens of every assistant turn and its end-of-turn token.
        flags: `truncated` (the window cut something), `template_changed` (the template shows an answer other than
            it was given), `boundary` (a token holds both prompt and answer text), `no_end_of_turn` (the template
            ends an assistant turn with nothing).
    """

    input_ids: list[int]
    response_mask: list[bool]
    flags: tuple[str, ...] = ()


class ChatRenderer:
    """Conversations to token ids and masks, for one tokenizer.

    Args:
        tokenizer: Any fast tokenizer. Without a chat template, `PLAIN_TEMPLATE` is used.
        max_length: The window in tokens, at least 2; None for no limit.

    Raises:
        UsageError: The tokenizer cannot say where in a text its tokens stand, has several templates and no default
            one, or the window is too small.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_length: int | None = None) -> None:
        if not tokenizer.is_fast:
            raise UsageError(f"{tokenizer.name_or_path}: the tokenizer has no offsets; use its fast version")
        if max_length is not None and max_length < 2:
            raise UsageError(f"--max_length {max_length}: has to be at least 2")
        self.tokenizer = tokenizer
        self.max_length = max_length
        template = tokenizer.chat_template
        if isinstance(template, dict):
            if "default" not in template:
                kinds = ", ".join(sorted(template))
                raise UsageError(f"{tokenizer.name_or_path}: none of its chat templates ({kinds}) is the default")
            template = template["default"]
        self.template: str = template or PLAIN_TEMPLATE
        self.digest = hashlib.sha256(self.template.encode()).hexdigest()[:16]
        # A template writes its own BOS; the plain one gets the tokenizer's, where that begins every text with it.
        begins = tokenizer.bos_token_id is not None and tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
        self._prefix = str(tokenizer.bos_token) if begins and not template else ""
        added = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
        names = {token for token in [*tokenizer.all_special_tokens, *added] if token.strip()}
        self._special = sorted(names, key=len, reverse=True)
        self._special_ids = set(tokenizer.convert_tokens_to_ids(self._special))
        self._closing, self._last_closing = self._closings()

    def render(self, messages: Sequence[Message]) -> Example:
        """The conversation's token ids, with a mask over every assistant turn and its end-of-turn token.

        The ids are those of the rendered text with no special token added. Decoding the masked ids gives the
        answers as the template shows them, each followed by its end-of-turn token.

        A conversation longer than the window is cut from the left, up to one token before the first supervised one
        (the token that predicts it); if that is not enough, from the right: an answer longer than the window keeps
        its first tokens.

        Args:
            messages: Dictionaries with `role` and `content`, and what else the template reads (`tool_calls`, ...).

        Raises:
            RowError: The row has no supervised token, or the template refuses the conversation.
        """
        # Without their empty keys, so that a template's `is defined` means what it says.
        messages = [{k: v for k, v in message.items() if v is not None} for message in messages]
        if not any(message["role"] == "assistant" for message in messages):
            raise RowError("no assistant turn")
        text = self._apply(messages)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise RowError(f"not Unicode text: {error.reason}") from error
        spans: list[tuple[int, int]] = []
        flags: set[str] = set()
        for i, message in enumerate(messages):
            if message["role"] != "assistant" or not _has_answer(message):
                continue
            start, end = self._answer_span(messages, i, text)
            shown, given = text[start:end], message.get("content") or ""
            calls = bool(message.get("tool_calls"))
            if (shown == given) == calls or given not in shown:
                flags.add("template_changed")
            if not shown:
                continue
            stop = self._end_of_turn(text, end, self._last_closing if i == len(messages) - 1 else self._closing)
            if stop == end:
                flags.add("no_end_of_turn")
            spans.append((start, stop))
        if not spans:
            raise RowError("empty answer")
        ids, mask, straddles = self._tokenize(text, spans)
        if straddles:
            flags.add("boundary")
        if not any(mask[1:]):
            raise RowError("no supervised token with one before it")
        if self.max_length is not None and len(ids) > self.max_length:
            flags.add("truncated")
            begin = min(len(ids) - self.max_length, mask.index(True, 1) - 1)
            ids, mask = ids[begin : begin + self.max_length], mask[begin : begin + self.max_length]
        return Example(ids, mask, tuple(sorted(flags)))

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The token ids of a conversation that the model is to answer, up to where its answer begins.

        Raises:
            RowError: The template refuses the conversation.
        """
        text = self._apply(messages, add_generation_prompt=True)
        if self.template == PLAIN_TEMPLATE:
            text += "Assistant:"
        return list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _apply(self, messages: Sequence[Message], add_generation_prompt: bool = False) -> str:
        try:
            text = self.tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=add_generation_prompt,
                chat_template=self.template,
            )
        except Exception as error:  # a template is a program of its own: it may raise anything
            raise RowError(f"the chat template refuses it: {' '.join(str(error).split())}") from error
        return f"{self._prefix}{text}"

    def _answer_span(self, messages: Sequence[Message], i: int, text: str) -> tuple[int, int]:
        """Where turn `i` stands in `text`: between what stands around a marker rendered in its place."""
        marker = next(character for character in _MARKERS if character not in text)
        marked = [*messages]
        marked[i] = {"role": "assistant", "content": marker}
        refusal = RowError("the chat template makes what follows an answer depend on it")
        try:
            head, *tails = self._apply(marked).split(marker)
        except RowError as error:
            head, tails, refusal = "", [marker], error
        if not tails:
            return 0, 0  # the template shows nothing of this turn
        if len(tails) > 1:
            raise RowError("the chat template shows an answer more than once")
        if not text.endswith(tails[0]):
            # A tool turn may have to follow a call: this turn is then looked for as the last one.
            if i == len(messages) - 1:
                raise refusal
            short = self._apply(messages[: i + 1])
            start, end = self._answer_span(messages[: i + 1], i, short)
            if not text.startswith(short[:end]):
                raise refusal
            return start, end
        start = _common(text, head)
        end = max(start, len(text) - len(tails[0]))
        if start < len(head) and set(messages[i]) <= {"role", "content"}:
            # What stands before an answer depends on it: "<think>" is its own, or what the template writes anyway.
            content, squeezed = messages[i]["content"], "".join(messages[i]["content"].split())
            if text.endswith(content, 0, end):
                start = end - len(content)
            elif "".join(text[:end].split()).endswith(squeezed):
                start, left = end, len(squeezed)
                while left:
                    start -= 1
                    left -= not text[start].isspace()
        return start, end

    def _closings(self) -> tuple[str | None, str | None]:
        """What the template writes after an answer that is not the last turn, and after one that is.

        Empty where it writes nothing, None where it refuses to be asked.
        """
        user, answer, again = _MARKERS[:3]
        turns = [{"role": "user", "content": user}, {"role": "assistant", "content": answer}]
        try:
            last = self._apply(turns).rpartition(answer)[2].rstrip()
        except RowError:
            return None, None
        try:
            text = self._apply([*turns, {"role": "user", "content": again}])
        except RowError:
            return last, last
        between = text.rpartition(answer)[2].partition(again)[0]
        token = last[: self._end_of_turn(last, 0, None)] or last
        if token and between.startswith(token):
            return token, last
        # The rest is the next turn's header, which also stands before the first one.
        header = _common(between[::-1], text.partition(user)[0][::-1])
        return between[: len(between) - header].rstrip(), last

    def _end_of_turn(self, text: str, end: int, closing: str | None) -> int:
        """Where the end-of-turn token stops that follows an answer, or `end` where the template writes none.

        It is the special token that comes next, or else the text that the template writes after every answer.
        """
        if closing == "":
            return end  # a special token that comes next is the next turn's
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
        for token in self._special:
            if text.startswith(token, at):
                return at + len(token)
        return end + len(closing) if closing and text.startswith(closing, end) else end

    def _tokenize(self, text: str, spans: Sequence[tuple[int, int]]) -> tuple[list[int], list[bool], bool]:
        """Ids and mask of the whole text; where a token straddles an answer's edge, of its pieces one by one."""
        ids, mask, straddles = self._tokenize_whole(text, spans)
        if not straddles:
            return ids, mask, False
        edges = [0, *(edge for span in spans for edge in span), len(text)]
        pieces = [text[a:b] for a, b in pairwise(edges)]
        parts = [self.tokenizer(piece, add_special_tokens=False)["input_ids"] if piece else [] for piece in pieces]
        apart = [token for part in parts for token in part]
        if self.tokenizer.decode(apart) != self.tokenizer.decode(ids):
            return ids, mask, True  # it does not read as before, as where the tokenizer adds a space to each piece
        return apart, [k % 2 == 1 for k, part in enumerate(parts) for _ in part], False

    def _tokenize_whole(self, text: str, spans: Sequence[tuple[int, int]]) -> tuple[list[int], list[bool], bool]:
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        mask: list[bool] = []
        straddles = False
        previous = span = 0
        for token, (start, end) in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
            # A token covers the text from the last token's end, since offsets may leave out a leading space; or
            # from its own start, where it begins with the later bytes of the last token's character.
            begin, previous = min(start, previous), max(previous, end)
            if begin == previous and mask:
                mask.append(mask[-1])
                continue
            # A special token may take the spaces after it, which are not what it stands for.
            stop = begin + len(text[begin:previous].rstrip()) if token in self._special_ids else previous
            while span < len(spans) and spans[span][1] <= begin:
                span += 1
            inside = span < len(spans) and spans[span][0] < stop
            straddles |= inside and not (spans[span][0] <= begin and stop <= spans[span][1])
            mask.append(inside)
        return encoded["input_ids"], mask, straddles


def _has_answer(message: Message) -> bool:
    return bool(message.get("tool_calls")) or bool((message.get("content") or "").strip())


def _common(a: str, b: str) -> int:
    """How many characters two texts begin with alike."""
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
