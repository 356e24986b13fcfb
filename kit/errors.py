"""The error tree. A foreign exception is translated at the adapter, with its cause kept.

GenomaError
├── BadInput                 what the caller gave cannot be used (HTTP 422, exit 1)
│   └── TooLong              ... because of its size (HTTP 413)
├── NotFound                 no such thing, or not yours (HTTP 404)
├── Conflict                 somebody or something changed it meanwhile (HTTP 409)
├── NotAllowed               a key or password that is refused (HTTP 401)
├── BudgetExhausted          the reservation does not fit into the budget (HTTP 429)
├── Stopped                  a person asked the cycle to pause or to end (HTTP 409)
├── Unavailable              the database is out of reach for a while (HTTP 503)
├── Misconfigured            a setting, database or file that cannot work (exit 1)
├── UnreadableReply          a model replied, but not with what was asked for (unscored, refused)
└── ProviderError            a model endpoint failed (HTTP 502)
    ├── ProviderRefused      ... by its own decision: bad key, unknown model (not retried)
    ├── ProviderBusy         ... 429: waits as told by Retry-After
    └── ProviderUnreachable  ... no or no usable reply: timeout, 5xx, HTML instead of JSON
"""


class GenomaError(Exception):
    """Something could not be done; the message is one clear sentence that says what and where."""


class BadInput(GenomaError):
    pass


class TooLong(BadInput):
    pass


class NotFound(GenomaError):
    pass


class Conflict(GenomaError):
    pass


class NotAllowed(GenomaError):
    pass


class BudgetExhausted(GenomaError):
    """A reservation does not fit.

    `passing`: it may, once others have settled what they hold. `kept`: it would, if the rest were
    not kept for the proof.
    """

    def __init__(self, message: str, *, passing: bool = False, kept: bool = False) -> None:
        super().__init__(message)
        self.passing = passing
        self.kept = kept


class Stopped(GenomaError):
    """A person asked for it: `wish` is `pause` or `cancel`."""

    def __init__(self, wish: str) -> None:
        super().__init__(f"a person asked this cycle to {wish}")
        self.wish = wish


class Unavailable(GenomaError):
    pass


class Misconfigured(GenomaError):
    pass


class UnreadableReply(GenomaError):
    pass


class ProviderError(GenomaError):
    """A model endpoint failed. `retry_after_s` is what it asked for, if anything.

    `may_be_billed`: the call may have been worked at, and be on the bill, although no usable
    reply came of it.
    """

    def __init__(
        self, message: str, retry_after_s: float | None = None, *, may_be_billed: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.may_be_billed = may_be_billed


class ProviderRefused(ProviderError):
    pass


class ProviderBusy(ProviderError):
    pass


class ProviderUnreachable(ProviderError):
    def __init__(
        self, message: str, retry_after_s: float | None = None, *, may_be_billed: bool = True
    ) -> None:
        super().__init__(message, retry_after_s, may_be_billed=may_be_billed)
