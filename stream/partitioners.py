"""Where a producer puts a key: the usual clients' partitioners, and the refusal of a record that lies elsewhere."""

from __future__ import annotations

import zlib

import msgspec

from schemas.errors import Refused
from stream.settings_tables import Partitioner

_WORD = 0xFFFFFFFF
_MIX = 0x5BD1E995


class Placing(msgspec.Struct, frozen=True):
    """How the subscriptions topic's producers choose a partition, among how many."""

    partitioner: Partitioner = "any"
    partitions: int = 1

    def check(self, key: bytes, partition: int) -> None:
        """Refuse a record that does not lie where its key belongs.

        Raises
        ------
        Refused
            Records of one id may lie in two partitions, between which there is no order.
        """
        if self.partitioner == "any":
            return
        wanted = partition_of(key, self.partitioner, self.partitions)
        if partition != wanted:
            raise Refused(
                "subscription.wrong_partition",
                f"the record lies in partition {partition}, and by subscriptions.partitioner = {self.partitioner!r} "
                f"its key belongs in {wanted} of {self.partitions}; were an id's records in two, which is the last "
                f"could not be told. Give every producer the same partitioner (Java clients have murmur2, those built "
                f"on librdkafka consistent unless told otherwise) and publish it again",
            )


def partition_of(key: bytes, partitioner: Partitioner, partitions: int) -> int:
    """Return the partition in which a producer with this partitioner puts a key."""
    if partitioner == "consistent":
        return zlib.crc32(key) % partitions
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """Return Kafka's variant of the 32-bit hash MurmurHash2 (A. Appleby), unsigned."""
    hashed = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        word = (int.from_bytes(data[start : start + 4], "little") * _MIX) & _WORD
        word = ((word ^ word >> 24) * _MIX) & _WORD
        hashed = ((hashed * _MIX) & _WORD) ^ word
    if whole < len(data):
        hashed = ((hashed ^ int.from_bytes(data[whole:], "little")) * _MIX) & _WORD
    hashed = ((hashed ^ hashed >> 13) * _MIX) & _WORD
    return hashed ^ hashed >> 15
