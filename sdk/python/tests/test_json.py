"""Decimals are exact in both directions."""

import json
import unittest
from decimal import Decimal

from quittance import ConfigurationError, _json
from quittance.types import Computed, Invoice, Pagination
from tests.scripted import client, data


class Encoding(unittest.TestCase):
    """What a request contains."""

    def test_decimals_are_numbers_with_their_digits(self) -> None:
        body = {
            "a": Decimal("1050.00"),
            "b": Decimal("0.1"),
            "c": Decimal("123456789012.345678"),
            "d": Decimal("-0.000001"),
            "e": 10,
            "f": [True, None, "ü\"\n\u2028"],
            "g": (Decimal("1E+2"),),
        }
        want = (
            '{"a":1050.00,"b":0.1,"c":123456789012.345678,"d":-0.000001,"e":10,'
            '"f":[true,null,"ü\\"\\n\u2028"],"g":[1E+2]}'
        )
        self.assertEqual(_json.encode(body).decode(), want)
        self.assertEqual(json.loads(want, parse_float=Decimal)["c"], body["c"])

    def test_what_is_not_exact_or_not_json_is_refused_before_it_is_sent(self) -> None:
        loop: dict[str, object] = {}
        loop["loop"] = loop
        refused = [0.1, Decimal("NaN"), Decimal("Infinity"), b"x", object(), {1: "x"}, "\ud800"]
        for value in [*refused, loop]:
            made, script, _ = client(data({}))
            with self.subTest(value=type(value)), self.assertRaises(ConfigurationError):
                made.invoices.create({"note": value})  # type: ignore[typeddict-item]
            self.assertEqual(script.requests, [])


class Decoding(unittest.TestCase):
    """What a response becomes."""

    def test_a_decimal_of_the_api_is_a_decimal_even_without_a_fraction(self) -> None:
        text = b'{"total_amount":1050,"items":[{"quantity":1,"net_unit_price":0.10}],"new":3}'
        invoice = _json.shaped(_json.decode(text), Invoice)
        self.assertEqual(repr(invoice["total_amount"]), "Decimal('1050')")
        self.assertEqual(repr(invoice["items"][0]["quantity"]), "Decimal('1')")
        self.assertEqual(repr(invoice["items"][0]["net_unit_price"]), "Decimal('0.10')")
        self.assertEqual(repr(invoice.get("new")), "3")

    def test_a_name_can_be_a_decimal_in_one_type_and_an_integer_in_another(self) -> None:
        value = _json.decode(b'{"total":61}')
        self.assertEqual(repr(_json.shaped(value, Computed)["total"]), "Decimal('61')")
        self.assertEqual(repr(_json.shaped(value, Pagination)["total"]), "61")

    def test_what_is_not_json_is_refused(self) -> None:
        deep = b"[" * 100_000 + b"]" * 100_000
        for text in (b"", b"{", b"NaN", b"{} {}", b"\xff", b"1e9999999999999999999999", deep):
            with self.subTest(text=text[:10]), self.assertRaises(ValueError):
                _json.decode(text)

    def test_a_decimal_that_is_no_number_is_refused(self) -> None:
        for value in ("1", True, [], {}):
            with self.subTest(value=value), self.assertRaises(ValueError):
                _json.shaped({"total_amount": value}, Invoice)
