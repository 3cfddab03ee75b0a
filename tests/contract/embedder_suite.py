"""What every embedder must do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from muisti.ports import Embedder

TEXTS = [
    "We chose PostgreSQL.",
    "Anna likes dark mode.",
    "我们明天在北京见面。",
    "Привет, мир!",
    "x",
    "A much longer text. " * 20,
]
NAUGHTY = [
    "", " ", "\0", "a\0b", "\ud800", "ok \udfff end", "\ufeff", "\u202e rtl", "😀👨‍👩‍👧🇫🇮", "e\u0301" * 200, "\u0301" * 500, "Ω≈ç√∫˜µ≤≥÷",
    "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดี", "한국어", "<script>alert(1)</script>", "'; DROP TABLE x; --", "$(id) `id` %s {0}", "[CLS] [SEP] [MASK] [UNK] [PAD]",
    "\U0010ffff\ue000", "田中さんにあげて下さい", "NaN", "null", "\n\r\t\x1b\x7f", "a" * 5000,
]  # fmt: skip


class EmbedderContract:
    """Subclasses give a fixture `embedder`."""

    def test_vectors_have_length_one_and_the_dimensions_of_the_identity(
        self, embedder: Embedder
    ) -> None:
        rows = embedder.embed_documents(TEXTS)
        assert rows.shape == (len(TEXTS), embedder.identity().dimensions)
        assert rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)

    def test_a_question_is_one_vector(self, embedder: Embedder) -> None:
        vector = embedder.embed_query("Which database?")
        assert vector.shape == (embedder.identity().dimensions,)
        assert vector.dtype == np.float32
        assert abs(np.linalg.norm(vector) - 1) < 1e-5

    def test_the_same_text_has_the_same_vector(self, embedder: Embedder) -> None:
        assert np.array_equal(embedder.embed_documents(TEXTS), embedder.embed_documents(TEXTS))
        assert np.array_equal(embedder.embed_query(TEXTS[0]), embedder.embed_query(TEXTS[0]))

    def test_a_vector_does_not_depend_on_its_batch(self, embedder: Embedder) -> None:
        alone = np.concatenate([embedder.embed_documents([text]) for text in TEXTS])
        assert np.abs(embedder.embed_documents(TEXTS) - alone).max() < 1e-5
        assert np.abs(embedder.embed_documents(TEXTS[::-1])[::-1] - alone).max() < 1e-5

    def test_no_texts_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed_documents([]).shape == (0, embedder.identity().dimensions)

    @pytest.mark.parametrize("text", NAUGHTY, ids=range(len(NAUGHTY)))
    def test_any_text_has_a_vector(self, embedder: Embedder, text: str) -> None:
        for vector in (embedder.embed_documents([text])[0], embedder.embed_query(text)):
            assert abs(np.linalg.norm(vector) - 1) < 1e-5
        assert embedder.count_tokens(text) >= 0

    def test_a_long_text(self, embedder: Embedder) -> None:
        text = "memory and words 记忆 " * 5000
        assert np.isfinite(embedder.embed_documents([text])).all()
        assert embedder.count_tokens(text) > 5000

    def test_other_texts_have_other_vectors(self, embedder: Embedder) -> None:
        one, other = embedder.embed_documents(
            ["The cat sleeps on the sofa.", "Interest rates rose in March."]
        )
        assert one @ other < 0.95

    def test_english_is_read(self, embedder: Embedder) -> None:
        assert embedder.reads("The lamp is on the table")
        assert embedder.reads("café 東京")
        assert embedder.reads("2026: 42 %")

    def test_the_identity_stays(self, embedder: Embedder) -> None:
        before = embedder.identity()
        embedder.embed_documents(TEXTS[:1])
        assert embedder.identity() == before
        assert embedder.max_tokens > 0

    def test_ready_once_used(self, embedder: Embedder) -> None:
        embedder.embed_query("hello")
        assert embedder.is_ready()

    def test_threads_may_share_it(self, embedder: Embedder) -> None:
        expected = embedder.embed_documents(TEXTS)
        with ThreadPoolExecutor(8) as pool:
            for rows in pool.map(embedder.embed_documents, [TEXTS] * 16):
                assert np.abs(rows - expected).max() < 1e-5

    def test_closing_twice(self, embedder: Embedder) -> None:
        embedder.embed_query("hello")
        embedder.close()
        embedder.close()
