"""Every public name has a docstring."""

import inspect
import unittest

import quittance
from quittance import types


class Docstrings(unittest.TestCase):
    """What help() shows."""

    def test_every_public_name_has_a_docstring_of_its_own(self) -> None:
        checked = 0
        for module in (quittance, types):
            names = getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"])
            for name in names:
                value = getattr(module, name)
                if not getattr(value, "__module__", "").startswith("quittance"):
                    continue  # of the standard library, or an alias
                if inspect.isfunction(value) or inspect.isclass(value):
                    checked += 1
                    with self.subTest(name):
                        self.assertTrue(value.__doc__)
        self.assertGreater(checked, 100)

    def test_every_method_of_a_resource_has_a_docstring(self) -> None:
        with quittance.Client("https://h", api_key="qk_x") as client:
            for resource in vars(client).values():
                for name, method in inspect.getmembers(resource, inspect.ismethod):
                    if not name.startswith("_"):
                        with self.subTest(f"{type(resource).__name__}.{name}"):
                            self.assertTrue(method.__doc__)
