-- The binary format of entries, as src/keepword/embedding/entry_format.py has it.

-- What an entry of so many words weighs for the arm that looks by words.
CREATE OR REPLACE FUNCTION length_share(words integer) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT <<length_share>>
$$;
