"""What every location of a vault must do."""

from __future__ import annotations

from muisti.ports import Location


class LocationContract:
    """Subclasses give the fixture `location`, of a vault that is there."""

    def test_it_has_an_address_and_a_name_without_it(self, location: Location) -> None:
        assert str(location)
        assert location.name
        assert "/" not in location.name

    def test_it_is_there_and_can_be_written(self, location: Location) -> None:
        location.check_available()
        assert location.is_writable

    def test_it_tells_its_size(self, location: Location) -> None:
        assert location.disk_usage() >= 0
