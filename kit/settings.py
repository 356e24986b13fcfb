"""The settings: the only place that reads the environment."""

from decimal import Decimal
from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from kit.errors import Misconfigured
from kit.prices import Price


class Settings(BaseSettings):
    """What the environment says, with the defaults of a fresh machine."""

    model_config = SettingsConfigDict(env_prefix="GENOMA_", env_ignore_empty=True)

    home: Path = Path(".genoma")
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)

    database_url: SecretStr | None = None
    """The service's own login; empty means the embedded server."""
    migration_url: SecretStr | None = None
    """The owner's login, used to migrate and for nothing else."""

    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    rag_postprocess_model: str = ""
    judge_model: str = ""
    mutator_model: str = ""
    router_model: str = ""
    embedding_model: str = ""
    gguf: Path | None = None
    threads: int = Field(default=1, ge=1, le=64)
    model_timeout_s: float = Field(default=300, gt=0, le=3600)
    """For one call of a model; a small one on a slow machine needs minutes."""

    nightly: str = Field(default="02:30", pattern=r"^(([01]\d|2[0-3]):[0-5]\d)?$")
    timezone: str = "UTC"
    concurrency: int = Field(default=4, ge=1, le=256)
    cycle_budget: int = Field(default=600, ge=1)
    cycle_calls: int | None = Field(default=None, ge=1)
    cycle_tokens: int | None = Field(default=None, ge=1)
    cycle_money: Decimal | None = Field(default=None, gt=0, le=1_000_000_000)
    """In the currency of the prices."""
    cycle_minutes: float | None = Field(default=None, gt=0, le=100_000)
    """Upper limits of each cycle besides its judged answers; empty: none."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """JSON: a model's name -> {"input", "output"}, what a million tokens cost."""
    welcome: bool = True
    """Whether a first start on an empty store queues the welcome cycle."""

    @field_validator("timezone")
    @classmethod
    def _is_a_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(f"no time zone of the name {value!r}") from error
        return value

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


def load_settings() -> Settings:
    """Read the environment. Raises Misconfigured that names the variable and what is wrong."""
    try:
        return Settings()
    except SettingsError as error:  # of the settings, only the prices are JSON
        raise Misconfigured("the setting GENOMA_PRICES cannot be used: it is not JSON") from error
    except ValidationError as error:
        first = error.errors()[0]
        name, *inside = (str(part) for part in first["loc"])
        variable = name.upper() if name.startswith("OPENAI") else f"GENOMA_{name.upper()}"
        where = f" ({', '.join(inside)})" if inside else ""
        raise Misconfigured(
            f"the setting {variable}{where} cannot be used: {first['msg']}"
        ) from error
