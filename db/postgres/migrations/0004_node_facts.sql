-- What a node runs with, as JSON: its program's version, hashes of its prices and settings. It counts for the boot that it names; a node of an older program, which
-- says nothing, leaves what stood in its lane before.
ALTER TABLE nodes ADD COLUMN facts TEXT COLLATE "C" NOT NULL DEFAULT '{}', ADD COLUMN facts_boot BIGINT NOT NULL DEFAULT 0;
