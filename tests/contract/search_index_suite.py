"""The suite of the port `SearchIndex`: every index passes all of it, unchanged."""

from __future__ import annotations

from tests.contract.duplicates_suite import DuplicatesContract
from tests.contract.index_suite import IndexContract
from tests.contract.links_suite import LinksContract
from tests.contract.messages_suite import MessagesContract
from tests.contract.reader_suite import ReaderContract
from tests.contract.review_suite import ReviewContract
from tests.contract.statistics_suite import StatisticsContract
from tests.contract.words_suite import WordsContract


class SearchIndexContract(
    IndexContract,
    ReaderContract,
    WordsContract,
    LinksContract,
    DuplicatesContract,
    MessagesContract,
    ReviewContract,
    StatisticsContract,
):
    """Subclasses give the fixtures `index`, open and empty, and `clock`, which it goes by."""
