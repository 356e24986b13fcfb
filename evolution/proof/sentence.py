"""A proof in one sentence, as people read it."""

from evolution.shapes import Proof, Trade


def signed(points: float) -> str:
    """Write a difference in points as people read it: with its sign, and a true minus."""
    text = f"{points:+.2f}"
    return "0.00" if text[1:] == "0.00" else text.replace("-", "−")


def sentence_of(proof: Proof) -> str:
    """Say in one sentence by how much, how sure, on how many, and what it costs."""
    numbers = (
        f"{signed(proof.gain)} of 10 (interval {signed(proof.low)} to {signed(proof.high)}) "
        f"on {proof.pairs} fresh questions"
    )
    sure = f"a false alarm at most {100 * proof.alpha:.2g} % of the time"
    trade = f", {words}" if (words := _trade_in_words(proof.trade)) else ""
    if proof.decision == "better":
        return f"Better by {numbers}{trade}; {sure}."
    if proof.decision == "cheaper":
        return f"Cheaper and not worse by {proof.margin:g}: {numbers}{trade}; {sure}."
    if proof.decision == "not_comparable":
        return f"Not comparable: only {proof.pairs} of {proof.pairs + proof.missing} were scored."
    return f"Not proven: {numbers}{trade}{_OBSTACLES[proof.obstacle]}."


_OBSTACLES = {
    "": "",
    "quality": "",
    "cost": "; the cost is not shown to be within what is allowed",
    "latency": "; the slowest answers take longer than is allowed",
}


def _trade_in_words(trade: Trade) -> str:
    """Say how cost and latency change; nothing where nothing costs or takes anything."""
    parts = []
    if trade.cost_growth is not None:
        parts.append(
            f"{'cost' if trade.unit == 'micros' else 'tokens'} {_percent(trade.cost_growth)}"
        )
    if trade.latency_growth is not None:
        parts.append(f"95th percentile of latency {_percent(trade.latency_growth)}")
    return ", ".join(parts)


def _percent(share: float) -> str:
    text = f"{100 * share:+.0f} %"
    return "±0 %" if text[1:] == "0 %" else text.replace("-", "−")
