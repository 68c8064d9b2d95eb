-- Prices by the length of the prompt: each level is a version of its own. `price_group` says all prices of such a model, from which a checkpoint's level is found; '' is
-- one price for every prompt.
ALTER TABLE price_versions ADD COLUMN price_group TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE price_versions ADD COLUMN above_prompt_tokens BIGINT NOT NULL DEFAULT 0 CHECK (above_prompt_tokens >= 0);
DROP INDEX price_versions_rates;
CREATE UNIQUE INDEX price_versions_rates ON price_versions (
  model_number, input_rate_picos, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos, cache_write_1h_rate_picos,
  server_tool_use_rate_picos, price_group, above_prompt_tokens
);
