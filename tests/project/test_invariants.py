"""Each invariant of DESIGN §2 names the tests that hold it: none may go without the other."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

INVARIANTS: dict[str, tuple[str, ...]] = {
    "1. An accepted message survives kill -9 and power loss": (
        "acceptance/test_crash.py::test_a_message_accepted_before_the_death_is_delivered_once_after_it",
        "adapters/sqlite/test_durability.py::test_what_was_acknowledged_survives_kill_9",
        "faults/test_power.py::test_no_power_cut_loses_what_was_acknowledged_or_leaves_a_change_in_half",
        "adapters/sqlite/test_durability.py::test_the_writer_syncs_every_commit_and_the_reader_cannot_write",
    ),
    "2. A delivery is settled exactly once, and shown again with the same id at most": (
        "domain/test_message.py::test_a_delivery_makes_the_moves_of_the_table_and_no_other",
        "contracts/test_store_concurrency.py::test_of_many_that_planned_on_one_version_exactly_one_wins",
        "flow/test_mailbox.py::test_what_a_failed_turn_had_read_is_shown_again_and_marked",
        "simulation/test_simulation.py::test_no_seed_breaks_an_invariant",
        "faults/test_kills.py::test_a_bridge_that_is_killed_again_and_again_loses_nothing_and_does_nothing_twice",
    ),
    "3. An accepted message is never silently gone": (
        "flow/test_handoff.py::test_mail_left_unread_is_announced_twice_and_then_fails",
        "flow/test_failures.py::test_five_crashes_end_a_request_as_dead_and_its_asker_is_told_once",
        "flow/test_time.py::test_a_queued_message_expires_at_its_time_and_not_before",
        "flow/test_notices.py::test_the_sender_of_an_inform_that_expired_is_told_which_and_why_and_is_not_woken",
        "flow/test_directory.py::test_a_session_that_leaves_the_file_returns_its_mail_and_fails_what_it_was_asked",
        "contracts/test_store_removal.py::test_what_is_unsettled_stays_however_old_it_is",
        "adapters/sqlite/test_room.py::test_a_settlement_that_finds_the_disk_full_succeeds_at_once",
    ),
    "4. One turn a session, in the order of queueing, people first; sessions never wait for each other": (
        "contracts/test_store_commit.py::test_a_session_has_one_live_turn",
        "flow/test_handoff.py::test_ten_handoffs_to_a_busy_session_run_one_by_one_in_order",
        "flow/test_handoff.py::test_ten_sessions_work_side_by_side",
        "flow/test_stop.py::test_a_person_goes_before_peers_who_came_first",
        "flow/test_recovery.py::test_what_was_queued_runs_after_a_restart_in_its_order",
        "flow/test_leases.py::test_a_lease_is_over_at_its_end_and_not_before",
        "flow/test_taking_over.py::test_a_tool_call_in_a_turn_that_was_taken_over_is_stale",
        "faults/test_stops.py::test_a_bridge_that_was_stopped_past_its_lease_writes_nothing_of_its_turn_when_it_goes_on",
    ),
    "5. A turn that had begun to call tools is never run again on its own": (
        "flow/test_recovery.py::test_a_prompted_turn_is_parked_once_its_old_process_is_proven_gone",
        "flow/test_recovery.py::test_a_turn_that_was_not_prompted_is_surely_harmless_and_runs_again",
        "flow/test_failures.py::test_a_failure_after_tools_began_waits_for_an_operators_word_given_once",
        "acceptance/test_faults.py::test_an_agent_that_dies_after_it_acted_is_not_run_again",
        "flow/test_lineage.py::test_a_child_of_a_bridge_that_died_is_retired_and_never_gone_on_with",
        "faults/test_kills.py::test_a_bridge_that_is_killed_again_and_again_loses_nothing_and_does_nothing_twice",
    ),
    "6. Nothing is admitted without a decision": (
        "domain/test_admission.py::test_each_step_refuses_before_all_that_come_after_it",
        "flow/test_admission.py::test_a_refused_request_leaves_its_decision_and_nothing_else",
        "flow/test_replies.py::test_a_reply_needs_no_rule_back_and_its_decision_names_the_grant",
        "flow/test_people.py::test_an_explicit_deny_holds_for_people_too",
        "flow/test_paths.py::test_who_may_not_is_refused_leaves_everything_as_it_was_and_is_in_the_audit",
        "flow/test_approvals.py::test_it_is_held_shown_and_delivered_once_an_operator_approves",
        "flow/test_children.py::test_without_a_rule_it_is_refused_and_the_turn_goes_on",
    ),
    "7. Origin and sender are stamped by the channel; peer text is never its user's words": (
        "acceptance/test_topics.py::test_a_message_in_one_topic_wakes_another_and_its_answer_comes_back",
        "adapters/acp/test_start.py::test_a_prompt_never_mixes_the_texts_of_peers_into_other_blocks",
        "adapters/api/test_who.py::test_below_an_agent_a_caller_is_that_agent",
        "acceptance/test_who_speaks.py::test_whatever_an_agent_starts_is_that_agent_and_nobody_once_it_has_ended",
        "flow/test_admission.py::test_an_agent_stays_a_peer_whatever_it_writes",
    ),
    "8. A reply goes to the session and the place that asked, and a late one is kept": (
        "flow/test_people.py::test_of_several_places_of_the_asker_only_the_one_that_asked_shows_the_answer",
        "flow/test_replies.py::test_only_the_session_that_was_asked_can_reply_and_only_the_asker_can_look",
        "flow/test_replies.py::test_one_late_answer_is_kept_and_marked_and_the_next_is_refused",
    ),
    "9. A conversation ends, whatever the agents do": (
        "domain/test_loops.py::test_every_chain_of_forwards_ends_within_the_depth",
        "flow/test_bounds.py::test_nine_agents_in_a_circle_come_to_an_end_at_each_limit",
        "flow/test_bounds.py::test_an_agent_that_asks_anew_on_every_answer_stops_at_the_budget_of_the_conversation",
        "flow/test_handoff.py::test_ten_attempts_at_one_pair_rest_after_twenty_messages",
    ),
    "10. A person's stop outranks everything queued": (
        "flow/test_stop.py::test_a_stop_in_the_instant_in_which_a_turn_is_stored_is_not_missed",
        "flow/test_stop.py::test_a_stopped_turn_of_a_peer_is_parked_and_its_asker_hears_of_it",
        "flow/test_stop.py::test_a_stop_comes_before_all_that_is_queued_and_what_it_parked_keeps_its_place",
        "flow/test_stop_elsewhere.py::test_a_stop_that_is_heard_by_one_bridge_ends_the_turn_that_another_runs",
    ),
    "11. A topic's text goes to that topic, or nowhere and is reported": (
        "flow/test_outbox.py::test_a_post_that_is_refused_for_good_goes_nowhere_else_and_later_ones_go_on",
        "flow/test_outbox.py::test_operators_are_told_once_of_a_place_that_can_show_nothing_and_never_what",
        "adapters/telegram/test_deliver.py::test_a_deleted_topic_is_reported_and_nothing_goes_elsewhere",
        "adapters/telegram/test_deliver.py::test_what_telegram_put_outside_its_topic_is_taken_back",
    ),
    "12. What one session may not discover it cannot learn of": (
        "acceptance/test_shell.py::test_not_permitted_is_told_with_rule_and_remedy_and_unknown_equals_invisible",
        "flow/test_unseen.py::test_a_session_that_may_not_be_seen_is_as_one_that_is_not_there",
        "flow/test_unseen.py::test_nothing_shows_in_which_state_it_is",
        "flow/test_unseen.py::test_a_message_of_others_is_as_one_that_is_not_there",
        "adapters/test_unseen.py::test_by_the_tools",
        "flow/test_visibility.py::test_a_trace_is_for_those_whose_message_it_is",
        "flow/test_visibility.py::test_a_program_without_a_terminal_speaks_as_a_shell_only_and_a_person_as_any_session",
    ),
}


@pytest.mark.parametrize(("invariant", "named"), INVARIANTS.items(), ids=INVARIANTS)
def test_the_tests_that_an_invariant_names_are_there(invariant: str, named: tuple[str, ...]) -> None:
    for each in named:
        file, _, test = each.partition("::")
        module = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert test in functions, f"{invariant}: {each}"
