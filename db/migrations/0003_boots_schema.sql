-- Which version of these tables the program of a boot knows. Those before this column knew 2.
ALTER TABLE boots ADD COLUMN schema_version INTEGER NOT NULL DEFAULT 2;
