"""IP addresses as sort keys: strings in which a network is one range in the order of code points.

A key is ``4`` and 8 hexadecimal digits, or ``6`` and 32. An IPv6 address that stands for an IPv4 one
(``::ffff:10.1.2.3``) has the key of the IPv4 address, so a network of IPv4 holds it and one of IPv6 does not.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

_MAPPED = IPv6Network("::ffff:0:0/96")


def address_key(text: str) -> str | None:
    """Return the sort key of an address, or None when the text is none; zones (``fe80::1%eth0``) are not accepted."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return _key(address)
    return None if address.scope_id is not None else _key(address.ipv4_mapped or address)


def network_bounds(text: str) -> tuple[str, str] | None:
    """Return the keys of the lowest and the highest address of a network, or None when the text is none.

    Parameters
    ----------
    text
        An address and the length of the prefix, such as ``10.0.0.0/8``; an address alone is a network of one. Bits
        after the prefix must be zero.
    """
    network = parse_network(text)
    if network is None:
        return None
    return _key(network.network_address), _key(network.broadcast_address)


def parse_network(text: str, strict: bool = True) -> Network | None:
    """Return the network that a text names, one inside ``::ffff:0:0/96`` as its IPv4 network; None when it names none.

    Parameters
    ----------
    text
        As in `network_bounds`.
    strict
        Whether bits after the prefix must be zero; otherwise they are made zero.
    """
    _, slash, prefix = text.partition("/")
    if "%" in text or (slash and not (prefix.isascii() and prefix.isdigit())):
        return None
    try:
        network = ip_network(text, strict)
    except ValueError:
        return None
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        low = int(network.network_address) & 0xFFFF_FFFF
        return IPv4Network((low, network.prefixlen - _MAPPED.prefixlen))
    return network


def _key(address: IPv4Address | IPv6Address) -> str:
    return f"4{int(address):08x}" if address.version == 4 else f"6{int(address):032x}"
