-- Who may call what: the application role, and nobody else but the owner. A function that is not here is the owner's alone.

REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA keepword FROM PUBLIC, keepword_app;

-- the grant
GRANT EXECUTE ON FUNCTION
    granted, granted_tenant, granted_everything, granted_run_ids, granted_first_run, granted_visibilities,
    granted_private_to, granted_writes, granted_sessions_of, granted_thread_user,
    granted_thread_agent, granted_more_sessions, granted_sessions, granted_shares,
    granted_profiles_of, granted_lines_in, granted_lines_of_theirs, granted_lines_to, granted_vouches, granted_owner, grants_owner,
    opens_fact_origins
TO keepword_app;

-- retractions
GRANT EXECUTE ON FUNCTION
    granted_retracted, find_retraction, retract_message, restore_message, index_revived, find_outlines, remake_summary
TO keepword_app;

-- erasures
GRANT EXECUTE ON FUNCTION
    granted_erasing, granted_erasing_conversations, granted_erasing_users, is_erasing, is_erasing_user, erase_message,
    begin_conversation_erasure, begin_user_erasure, begin_tenant_erasure, advance_erasure, find_erased, finish_erasure,
    show_erasure, note_process, export_personal, last_erasure, erased_event, erase_expired, find_retention, change_retention
TO keepword_app;

-- tenants
GRANT EXECUTE ON FUNCTION
    find_key, find_moved_key, find_key_place, note_key_place, keyless_tenant, find_keys, make_key,
    open_demo, revoke_key, find_settings,
    change_settings, take_quota, count_background, is_over_background
TO keepword_app;

-- places
GRANT EXECUTE ON FUNCTION
    find_project, find_room, find_conversation, find_direct, is_user, is_introduced, find_entered_places,
    find_agent_sessions, assign_session, make_user, make_alias
TO keepword_app;

-- the transcript
GRANT EXECUTE ON FUNCTION
    append_messages, find_event, index_messages, json_bytes, message_bytes, find_call_id
TO keepword_app;

-- the index
GRANT EXECUTE ON FUNCTION
    request_wakeup, index_instant_vectors, flush_pending_lexemes, analyze_new_table, is_importing, claim_backlog,
    store_vectors, give_up_backlog, release_backlog, count_backlog
TO keepword_app;

-- search
GRANT EXECUTE ON FUNCTION
    in_scope, in_the_scope_of, find_successor,
    matches_filter, find_scope_size, is_compared, find_frequencies, estimate_frequencies, find_by_words,
    find_nearest_fresh, find_neighbours, find_nearest_in_runs, find_nearest_in_tenant, find_nearest_instant,
    find_nearest_deep, find_literals, find_resembling, find_uses, count_uses, pack_deep_of_runs,
    pack_deep_of_hits, pack_deep_vectors, length_share,
    find_deleted_entries, recall_arms, search_candidates,
    recall_inside, changed_entries, pack_entries_of_runs, pack_entries_of_tenant, pack_entries_of_hits,
    pack_changed_of_runs, pack_changed_of_tenant
TO keepword_app;

-- working memory
GRANT EXECUTE ON FUNCTION
    working_lock_key, get_working, put_working, delete_working, mark_items, sweep_working, find_buffer_version
TO keepword_app;

-- facts
GRANT EXECUTE ON FUNCTION
    fact_lock_key, last_fact_version, put_fact, delete_fact, is_of_type, fact_run_id
TO keepword_app;

-- profiles
GRANT EXECUTE ON FUNCTION
    profile_rank, flatten_line, find_profile_user, write_profile, delete_profile, first_profile_id
TO keepword_app;

-- summaries
GRANT EXECUTE ON FUNCTION
    store_summary, store_agent_summary, replace_summaries, improve_summary, schedule_compaction, wake_compaction,
    find_derived
TO keepword_app;

-- landmarks and tool calls
GRANT EXECUTE ON FUNCTION
    needs_sentence, find_tasks, fail_task, store_sentence, store_landmarks, pin_landmark,
    unpin_landmark
TO keepword_app;

-- memories
GRANT EXECUTE ON FUNCTION
    find_memory_seq, find_extraction, finish_extraction, find_project_scope, store_memories,
    store_project_memories, change_memory, delete_memory, restore_memory, rate_memory, delete_memories,
    memory_state, matches_memory_filter, matches_value, matches_time, sweep_memories, mem0_part, find_mem0_adds
TO keepword_app;

-- trees of files
GRANT EXECUTE ON FUNCTION
    tree_lock_key, sha256_of, is_in_folder, file_obstacle, is_tree_full, add_file_version, put_file, delete_files,
    rename_files, redact_file
TO keepword_app;

-- the audit: reads alone, everything else is noted by what does it
GRANT EXECUTE ON FUNCTION
    note_read
TO keepword_app;

-- webhooks: the worker's, for all tenants, and a test that somebody asks for
GRANT EXECUTE ON FUNCTION
    claim_deliveries, finish_delivery, sweep_deliveries, test_webhook
TO keepword_app;

-- items
GRANT EXECUTE ON FUNCTION
    item_member, item_compares, item_has, matches_item_filter, item_labels, matches_labels, write_items, refresh_items,
    sweep_items, claim_item_parts, store_item_vectors, give_up_item_parts, release_item_parts, queue_item_parts
TO keepword_app;

-- composed turns
GRANT EXECUTE ON FUNCTION keep_turn, sweep_turns TO keepword_app;

-- imports of histories
GRANT EXECUTE ON FUNCTION
    make_history_import, put_history_part, start_history_import, cancel_history_import, delete_history_import,
    claim_history_import, read_history_part, is_history_import_held, note_history_import, finish_history_import,
    release_history_import, is_being_imported, sweep_history_imports
TO keepword_app;

-- jobs
GRANT EXECUTE ON FUNCTION
    enqueue_due, enqueue_extractions, reclaim_stalled, note_job, balance_tenants, find_failed_jobs, retry_failed_work
TO keepword_app;

-- numbers
GRANT EXECUTE ON FUNCTION
    find_queues, find_coverage, find_jobs, find_compaction, count_messages_by_day
TO keepword_app;

-- the queue's library
GRANT EXECUTE ON FUNCTION
    procrastinate_cancel_job_v1, procrastinate_defer_jobs_v1, procrastinate_defer_periodic_job_v2,
    procrastinate_fetch_job_v2, procrastinate_finish_job_v1, procrastinate_prune_stalled_workers_v1,
    procrastinate_register_worker_v1, procrastinate_retry_job_v1, procrastinate_retry_job_v2,
    procrastinate_unregister_worker_v1, procrastinate_update_heartbeat_v1
TO keepword_app;
