"""Stores the thoughts of a CSV file, except duplicates of stored ones.

usage: push_default.py CONFIG CSV. The file has the columns author and text, with a header line.
"""

import configparser
import csv
import sys

from resp import StoreError
from thoughts import BadThought, Store, make


def main(config_path, csv_path):
    config = configparser.ConfigParser(interpolation=None)
    config.read(config_path)
    store = Store(config["store"]["host"], config["store"].getint("port"))
    with open(csv_path, newline="", encoding="utf-8") as file:
        try:
            pairs = [make(row) for row in csv.DictReader(file)]
        except BadThought as err:
            return f"push_default: {csv_path}: {err}"
    try:
        added = store.add_missing(pairs)
    except StoreError as err:
        return f"push_default: {err}"
    print(f"push_default: stored {added} of {len(pairs)} default thoughts")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
