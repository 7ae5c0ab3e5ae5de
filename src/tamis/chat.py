"""The one place that turns a conversation into token ids and a response mask.

The mask is found by asking the template itself: the conversation is rendered once as it is, and once for every
assistant turn with that turn's text replaced by a marker. What differs between the two texts is the turn as the
template shows it, wherever its words stand elsewhere and whatever the template trims, moves or drops. No generation
markers are needed, and no prefix of the conversation has to render to a prefix of the text.
"""

from __future__ import annotations

import hashlib
import os.path
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
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n\n{% endfor %}"
)
"""What a tokenizer without a template gets: `User: ...`, `Assistant: ...<eos>`, a blank line between turns."""

# Private-use characters: no tokenizer, template or filter treats them as space, and no text begins or ends with them.
_MARKER = "\uf8d1tamis\uf8d2"


class RowError(ValueError):
    """A row has nothing that can be supervised; the message is the reason that stands beside its id."""


@dataclass(frozen=True)
class Example:
    """A conversation as token ids.

    Attributes:
        input_ids: The tokens of the rendered conversation, cut to the window.
        response_mask: One boolean a token: True for the tokens of every assistant turn and its end-of-turn token.
        flags: `truncated` (the window cut something), `template_changed` (the template shows an answer other than it
            was given), `boundary` (a token holds both prompt and answer text), `no_end_of_turn` (the template ends an
            assistant turn with nothing).
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
        UsageError: The tokenizer cannot say where in a text its tokens stand, or the window is too small.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_length: int | None = None) -> None:
        if not tokenizer.is_fast:
            raise UsageError(f"{tokenizer.name_or_path}: the tokenizer has no offsets; use its fast version")
        if max_length is not None and max_length < 2:
            raise UsageError(f"--max_length {max_length}: a window holds at least 2 tokens")
        self.tokenizer = tokenizer
        self.max_length = max_length
        template = tokenizer.chat_template
        if isinstance(template, dict):
            template = template.get("default")
        self.template: str = template or PLAIN_TEMPLATE
        self.digest = hashlib.sha256(self.template.encode()).hexdigest()[:16]
        # A template writes its own BOS; the plain one gets the tokenizer's, where that begins every text with it.
        begins = tokenizer.bos_token_id is not None and tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
        self._prefix = str(tokenizer.bos_token) if begins and not template else ""
        added = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
        names = {token for token in [*tokenizer.all_special_tokens, *added] if token.strip()}
        self._special = sorted(names, key=len, reverse=True)
        try:
            probe = self._apply([{"role": "user", "content": "a"}, {"role": "assistant", "content": _MARKER}])
        except RowError:
            probe = ""
        self._closing = probe.rpartition(_MARKER)[2].rstrip()

    def render(self, messages: Sequence[Message]) -> Example:
        """The conversation's token ids, with a mask over every assistant turn and its end-of-turn token.

        The ids are those of the rendered text with no special token added. Decoding the masked ids gives the answers
        as the template shows them, each followed by its end-of-turn token.

        A conversation longer than the window is cut from the left, up to one token before the first supervised one
        (the token that predicts it); if that is not enough, from the right: an answer longer than the window keeps
        its first tokens.

        Args:
            messages: Dictionaries with `role` and `content`, and what else the template reads (`tool_calls`, ...).

        Raises:
            RowError: The row has no supervised token, or the template refuses the conversation.
        """
        # Without their empty keys, so that a template's `is defined` means what it says.
        messages = [{k: v for k, v in message.items() if v is not None or k == "content"} for message in messages]
        text = self._apply(messages)
        spans: list[tuple[int, int]] = []
        flags: set[str] = set()
        for i, message in enumerate(messages):
            if message["role"] != "assistant" or not _has_answer(message):
                continue
            start, end = self._answer_span(messages, i, text)
            if text[start:end] != message.get("content"):
                flags.add("template_changed")
            if start == end:
                continue
            stop = self._end_of_turn(text, end)
            if stop == end:
                flags.add("no_end_of_turn")
            spans.append((start, stop))
        if not spans:
            answered = any(message["role"] == "assistant" for message in messages)
            raise RowError("empty answer" if answered else "no assistant turn")
        ids, mask, straddles = self._tokenize(text, spans)
        if straddles:
            flags.add("boundary")
        if not any(mask[1:]):
            raise RowError("no supervised token with one before it")
        if self.max_length is not None and len(ids) > self.max_length:
            flags.add("truncated")
            begin = min(len(ids) - self.max_length, max(mask.index(True) - 1, 0))
            ids, mask = ids[begin : begin + self.max_length], mask[begin : begin + self.max_length]
        return Example(ids, mask, tuple(sorted(flags)))

    def _apply(self, messages: Sequence[Message]) -> str:
        try:
            text = self.tokenizer.apply_chat_template(
                list(messages), tokenize=False, add_generation_prompt=False, chat_template=self.template
            )
        except Exception as error:  # a template is a program of its own: it may raise anything
            raise RowError(f"the chat template refuses it: {' '.join(str(error).split())}") from error
        return f"{self._prefix}{text}"

    def _answer_span(self, messages: Sequence[Message], i: int, text: str) -> tuple[int, int]:
        """Where turn `i` stands in `text`: between the longest common prefix and suffix of two renders."""
        marked = [*messages]
        marked[i] = {"role": "assistant", "content": _MARKER}
        other = self._apply(marked)
        if _MARKER not in other:
            return 0, 0  # the template shows nothing of this turn
        start = len(os.path.commonprefix([text, other]))
        longest = min(len(text), len(other)) - start
        end = len(text) - min(len(os.path.commonprefix([text[::-1], other[::-1]])), longest)
        content = (messages[i].get("content") or "").strip()
        if not text[start:end].lstrip().startswith(content[:8]):
            # The answer's own opening ("<think>") can be what the template writes before every answer.
            before = text[:start].rstrip()
            opening = next((k for k in range(len(content), 0, -1) if before.endswith(content[:k])), 0)
            start = len(before) - opening if opening else start
        return start, end

    def _end_of_turn(self, text: str, end: int) -> int:
        """Where the end-of-turn token stops that follows an answer, or `end` where the template writes none.

        It is the special token that comes next, or else whatever the template writes after a last answer.
        """
        at = end
        while at < len(text) and text[at].isspace():
            at += 1
        for token in self._special:
            if text.startswith(token, at):
                return at + len(token)
        return end + len(self._closing) if text.startswith(self._closing, end) else end

    def _tokenize(self, text: str, spans: Sequence[tuple[int, int]]) -> tuple[list[int], list[bool], bool]:
        """Ids and mask of the whole text; where a token straddles an answer's edge, of its pieces one by one."""
        ids, mask, straddles = self._tokenize_whole(text, spans)
        if not straddles:
            return ids, mask, False
        edges = [0, *(edge for span in spans for edge in span), len(text)]
        pieces = [text[a:b] for a, b in pairwise(edges)]
        parts = [self.tokenizer(piece, add_special_tokens=False)["input_ids"] if piece else [] for piece in pieces]
        if any(self.tokenizer.decode(part) != piece for part, piece in zip(parts, pieces, strict=True)):
            return ids, mask, True  # pieces that do not read back alone, as where the tokenizer adds a space to each
        split_mask = [k % 2 == 1 for k, part in enumerate(parts) for _ in part]
        return [token for part in parts for token in part], split_mask, False

    def _tokenize_whole(self, text: str, spans: Sequence[tuple[int, int]]) -> tuple[list[int], list[bool], bool]:
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        mask: list[bool] = []
        straddles = False
        previous = span = 0
        for _, end in encoded["offset_mapping"]:
            # A token covers the text from the last token's end to its own: offsets may leave out a leading space,
            # and the later bytes of one character repeat its offsets and cover nothing.
            begin, previous = previous, max(previous, end)
            if begin == previous and mask:
                mask.append(mask[-1])
                continue
            while span < len(spans) and spans[span][1] <= begin:
                span += 1
            inside = span < len(spans) and spans[span][0] < previous
            straddles |= inside and not (spans[span][0] <= begin and previous <= spans[span][1])
            mask.append(inside)
        return encoded["input_ids"], mask, straddles


def _has_answer(message: Message) -> bool:
    return bool(message.get("tool_calls")) or bool((message.get("content") or "").strip())
