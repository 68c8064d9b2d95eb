-- Rates of a key's own, beside those of its plan: JSON with the names of the settings, only those that are set; null: none.
ALTER TABLE keys ADD COLUMN rates TEXT;
