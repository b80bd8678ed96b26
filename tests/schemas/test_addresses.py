"""Address keys against the standard library's addresses and networks."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.addresses import address_key, network_bounds, parse_network

ADDRESS = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))


def plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    return address if isinstance(address, IPv4Address) else address.ipv4_mapped or address


@given(ADDRESS, ADDRESS)
def test_keys_order_as_addresses_of_one_version_do(a: IPv4Address | IPv6Address, b: IPv4Address | IPv6Address) -> None:
    a, b = plain(a), plain(b)
    low, high = address_key(str(a)), address_key(str(b))
    assert low is not None
    assert high is not None
    assert (low < high) == ((a.version, int(a)) < (b.version, int(b)))
    assert (low == high) == (a == b)


@given(ADDRESS, st.data())
def test_a_network_is_one_range_of_keys(base: IPv4Address | IPv6Address, data: st.DataObject) -> None:
    base = plain(base)
    network = ip_network((int(base), data.draw(st.integers(0, base.max_prefixlen))), strict=False)
    if base.version == 6:
        network = ip_network(f"{base}/{network.prefixlen}", strict=False)
    bounds = network_bounds(str(network))
    assert bounds is not None
    edges = {int(network[0]) - 1, int(network[0]), int(network[-1]), int(network[-1]) + 1}
    nearby = [type(base)(number) for number in edges if 0 <= number < 2**base.max_prefixlen]
    for address in [*nearby, data.draw(ADDRESS)]:
        key = address_key(str(address))
        assert key is not None
        assert (bounds[0] <= key <= bounds[1]) == (plain(address) in network)


def test_an_ipv6_address_that_stands_for_an_ipv4_one_is_that_one() -> None:
    assert address_key("::ffff:10.1.2.3") == address_key("::FFFF:a01:203") == address_key("10.1.2.3") == "40a010203"
    assert network_bounds("::ffff:10.0.0.0/104") == network_bounds("10.0.0.0/8") == ("40a000000", "40affffff")
    assert network_bounds("10.1.2.3") == network_bounds("10.1.2.3/32") == ("40a010203", "40a010203")


def test_no_key_of_one_version_lies_in_a_network_of_the_other() -> None:
    everything = network_bounds("::/0")
    assert everything is not None
    assert not everything[0] <= str(address_key("255.255.255.255")) <= everything[1]
    assert not everything[0] <= str(address_key("::ffff:0.0.0.0")) <= everything[1]


@pytest.mark.parametrize(
    "text",
    [
        *("", "10", "10.1.2", "10.1.2.3.4", "256.1.1.1", "01.2.3.4", "10.1.2.3/32", "fe80::1%eth0", "fe80::1%", ":::"),
        *("10.1.2.3\n", " 10.1.2.3", "١.1.1.1", "g::", "1:2:3:4:5:6:7:8:9", "0x7f.1.1.1"),
    ],
)
def test_what_is_no_address_has_no_key(text: str) -> None:
    assert address_key(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1/8",
        "10.0.0.0/33",
        "10.0.0.0/",
        "/8",
        "10.0.0.0/255.0.0.0",
        "fe80::%a/10",
        "::/129",
        "10.0.0.0/٨",
        "a/8",
    ],
)
def test_what_is_no_network_has_no_bounds(text: str) -> None:
    assert network_bounds(text) is None


def test_a_network_with_host_bits_can_be_made_a_right_one() -> None:
    assert str(parse_network("10.1.2.3/8", strict=False)) == "10.0.0.0/8"
    assert str(parse_network("::ffff:10.1.2.3/104", strict=False)) == "10.0.0.0/8"
