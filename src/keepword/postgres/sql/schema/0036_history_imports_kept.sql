-- The planner's statistics would keep samples of names and words that an erasure takes away.
ALTER TABLE history_imports ALTER report SET STATISTICS 0, ALTER options SET STATISTICS 0, ALTER error SET STATISTICS 0,
    ALTER file SET STATISTICS 0;
ALTER TABLE history_import_parts ALTER data SET STATISTICS 0;
