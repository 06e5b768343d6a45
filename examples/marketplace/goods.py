"""What the shop shows: a few static cards."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Good:
    """One card of the front page; ``picture`` is a static file, ``price`` is ready to read."""

    name: str
    maker: str
    price: str
    picture: str


GOODS = (
    Good(name="Stoneware mug", maker="Thrown in Höhr", price="€ 18.00", picture="marketplace/goods/mug.svg"),
    Good(name="Reading lamp", maker="Oak and linen", price="€ 64.00", picture="marketplace/goods/lamp.svg"),
    Good(
        name="Field notebook", maker="120 dotted pages", price="€ 9.50", picture="marketplace/goods/book.svg"
    ),
    Good(name="Canvas bag", maker="Holds 18 litres", price="€ 32.00", picture="marketplace/goods/bag.svg"),
)
