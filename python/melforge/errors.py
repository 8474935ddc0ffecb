"""What can go wrong with a dataset. Every message names the file."""


class MelforgeError(Exception):
    """The base of all errors of this package."""


class FormatError(MelforgeError):
    """The file is of another format or version than this package reads."""


class DamagedError(MelforgeError):
    """The file is missing, truncated or not what the dataset recorded."""
