-- Ends a page after the row that reaches its bytes. The query's last column is a row's size; the columns after that say
-- how many bytes come before the row, and how many rows there are without this limit.
SELECT * FROM (
    SELECT sized.*, COALESCE(sum(sized.bytes) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before,
        count(*) OVER () AS found
    FROM (
-- the query
    ) AS sized
) AS page WHERE bytes_before < %(page_bytes)s
