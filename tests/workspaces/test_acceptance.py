"""What verifiers of files must do, by number: the tests and scripts that show it, and what none of them shows."""

import ast
from typing import NamedTuple

import pytest

from tests.conftest import ROOT


class Row(NamedTuple):
    """A row of the specification."""

    what: str
    shown: tuple[str, ...] = ()
    """Tests as FILE:NAME within tests/, and scripts of benchmarks/."""
    unshown: str = ""


ROWS = {
    1: Row("right 100 %, wrong and forged 0 on the held set", (
        "workspaces/test_example:test_the_command_of_the_page_pays_every_right_trial_and_no_forged_one",
        "benchmarks/workspace_peers.py"), "the held set itself, which developers do not have"),
    2: Row("an undeclared output: forged 0, honest 1.0, undeclared unscored", (
        "workspaces/test_rows:test_what_harbor_failed_to_collect_or_nobody_declared_is_unscored",)),
    3: Row("four known exploits rebuilt: 0.0", (
        "workspaces/test_attacks:test_a_forged_workspace_is_never_paid_and_its_honest_twin_always",)),
    4: Row("55 attacks: forged never above 0, control always 1.0", (
        "workspaces/test_attacks:test_a_forged_workspace_is_never_paid_and_its_honest_twin_always",
        "workspaces/test_attacks:test_attacks_have_their_numbers", "benchmarks/workspace_attacks.py")),
    5: Row("each row of the table of blame", (
        "workspaces/test_workspace:test_missing_is_the_agents_where_declared_and_nobodys_where_nothing_declares_it",
        "workspaces/test_workspace:test_over_a_limit_of_the_task_is_the_agents_over_ours_nobodys",
        "workspaces/test_workspace:test_a_link_as_output_is_refused_and_one_inside_followed_where_the_task_lets_it",
        "workspaces/test_workspace:test_a_fifo_a_socket_and_a_folder_are_recorded_and_not_opened",
        "workspaces/test_workspace:test_of_a_sparse_file_the_apparent_size_counts",
        "workspaces/test_workspace:test_a_hard_link_is_its_content_once",
        "workspaces/test_workspace:test_a_tar_with_names_that_no_tree_has_is_refused_whole",
        "workspaces/test_workspace:test_names_are_kept_as_bytes_and_told_where_a_person_would_be_misled",
        "artifacts/test_box:test_a_reader_that_dies_of_a_file_which_the_second_one_refuses_is_the_agents_fault")),
    6: Row("expected values are absent from the box", (
        "artifacts/test_box:test_a_hostile_reader_finds_no_expected_value_in_its_frames_files_or_environment",
        "artifacts/test_box:test_the_search_for_a_canary_finds_one_that_is_there",
        "verifiers/test_html:test_expected_values_never_enter_the_browser_and_a_spec_gets_the_text_in_sight",
        "verifiers/test_service:test_the_box_has_no_network_and_no_expected_value")),
    7: Row("a reader killed, hung or lying: the verdict stands", (
        "artifacts/test_box:test_a_reader_that_dies_or_lies_about_a_right_file_leaves_no_value",
        "artifacts/test_office:test_an_office_that_ends_or_lies_gives_no_result",
        "artifacts/test_browser_pipe:test_a_browser_that_talks_nonsense_or_ends_leaves_no_value")),
    8: Row("the same bytes of score in three runs, two machines, 1 and 8 jobs", (
        "workspaces/test_rows:test_three_runs_and_eight_jobs_give_the_same_bytes",
        "workspaces/test_workspace:test_the_score_carries_the_digest_and_workspaces_travel_to_other_processes"),
        "a second machine"),
    9: Row("folders of Harbor 0.20 to 0.25 are read", (
        "env/test_tasks:test_a_harbor_task_is_its_instruction_and_nothing_of_it_runs",
        "workspaces/test_rows:test_a_folder_of_trials_is_scored_as_it_is",
        "env/audit/test_env_audit:test_tasks_without_instructions_are_alike_only_if_their_tests_are"),
        "Harbor's own examples, which its wheel lacks: files are made here. The four templates in the wheel of 0.26 "
        "were audited once"),
    10: Row("rows, tar, mapping and folder give one manifest", (
        "workspaces/test_workspace:test_a_folder_a_tar_and_a_mapping_give_one_manifest",)),
    11: Row("10,000 files, 500 MB: 512 MiB, 20 s", ("benchmarks/workspace_size.py",)),
    12: Row("xlsx: no false zero on 200 uncached books", (
        "verifiers/test_xlsx:test_generated_uncached_books_are_right_and_their_forged_twins_wrong",
        "benchmarks/workbook_trials.py")),
    13: Row("hard-coded, stale, constant, keyed: 100 % of 200 caught", (
        "verifiers/test_xlsx:test_generated_uncached_books_are_right_and_their_forged_twins_wrong",
        "verifiers/test_xlsx:test_a_right_cached_value_over_a_wrong_formula_does_not_count",
        "benchmarks/workbook_trials.py")),
    14: Row("114 formulas: no wrong value scored", (
        "verifiers/test_xlsx:test_a_value_needs_two_engines_and_a_majority",
        "verifiers/test_xlsx:test_newer_functions_of_statistics_exist",
        "verifiers/test_xlsx_formulas:test_the_right_value_of_a_formula_is_never_wrong_and_another_never_right"),
        "the specification's own list: 138 other formulas are computed"),
    15: Row("engines disagree: unscored, three values told", (
        "verifiers/test_xlsx:test_engines_that_differ_leave_no_value_without_a_third_and_all_are_told",
        "verifiers/test_xlsx:test_the_third_engine_decides_between_two_and_is_told")),
    16: Row("LibreOffice absent: unscored by name, with the line that installs it", (
        "artifacts/test_office:test_without_the_office_its_command_is_told",)),
    17: Row("SpreadsheetBench verified 400: golds 1.0 in 99 %", (
        "convert/test_deliverables:test_each_test_case_has_the_stored_values_of_its_answer_workbook",
        "verifiers/test_xlsx_formulas:test_a_value_that_only_libreoffice_gives_without_its_type_is_not_wrong",
        "benchmarks/workbook_trials.py"),
        "the 400 verified tasks, which are not on this machine: tasks of the first release, and generated ones"),
    18: Row("inputs as outputs are never paid where they differ", (
        "convert/test_spreadsheet_inputs:test_an_input_that_differs_is_never_rewarded_and_the_answer_is",
        "convert/test_spreadsheet_inputs:test_a_task_whose_inputs_are_right_by_their_values_is_left_out",
        "benchmarks/workbook_trials.py"),
            "the inputs of the 400 verified tasks: those of the first release, and generated ones"),
    19: Row("stale golds are unscored", (
        "convert/test_deliverables:test_an_answer_whose_formula_gives_another_value_than_the_stored_one_is_left_out",
        "benchmarks/workbook_trials.py"), "the files of the report: stale answers are generated"),
    20: Row("formats by shown text in two locales", (
        "verifiers/test_number_formats:test_a_cell_shows_the_text_of_its_format_in_two_locales",
        "verifiers/test_xlsx:test_a_cell_shows_its_text_by_locale")),
    21: Row("charts, names, pivots from Excel, LibreOffice, openpyxl files", (
        "verifiers/test_xlsx_charts_honest:test_hidden_cells_count_if_all_programs_show_them",
        "verifiers/test_xlsx:test_an_honest_workbook_is_right_however_it_computes",
        "verifiers/test_xlsx_charts:test_a_chart_of_the_ranges_counts_in_any_style",
        "verifiers/test_xlsx_charts:test_charts_that_libreoffice_saved_again_count",
        "verifiers/test_xlsx_pivots:test_a_fresh_pivot_table_counts_in_each_layout",
        "verifiers/test_xlsx_pivots:test_libreoffice_refreshes_a_stale_pivot_table_when_it_saves",
        "benchmarks/workbook_programs.py"),
        "files that Excel saved: its forms are written by hand"),
    22: Row("docx: runs, styles, revisions, hidden; resaved by LibreOffice still 1.0", (
        "verifiers/test_docx:test_a_text_in_sight_counts",
        "verifiers/test_docx:test_a_text_out_of_sight_does_not_count",
        "verifiers/test_docx:test_styles_are_effective_ones_however_they_come_about",
        "verifiers/test_docx:test_revisions_left_behind_are_refused_where_the_row_says_so",
        "verifiers/test_docx_resaved:test_documents_that_libreoffice_saved_again_count_by_what_is_seen"),
        "text boxes and styles that LibreOffice saved again"),
    23: Row("OSWorld's known false zeroes are accepted", (
        "convert/test_osworld:test_what_osworld_wrongly_refuses_is_accepted_and_its_near_misses_are_not",)),
    24: Row("pptx: order, groups, off-slide, covered", (
        "verifiers/test_pptx:test_a_text_in_sight_counts",
        "verifiers/test_pptx:test_a_text_out_of_sight_does_not_count",
        "verifiers/test_pptx:test_text_is_read_by_its_place_and_not_by_its_order_in_the_file")),
    25: Row("pdf: visible against invisible", (
        "verifiers/test_pdf:test_thirty_numbers_and_their_forged_twins",
        "verifiers/test_pdf:test_a_text_out_of_sight_does_not_count",
        "verifiers/test_pdf:test_a_text_in_sight_counts")),
    26: Row("image: blank at most .1 for every reference, right at least .9", (
        "verifiers/test_image:test_a_blank_picture_is_never_alike",
        "verifiers/test_image:test_the_expected_picture_is_alike_however_it_is_stored",
        "verifiers/test_image:test_one_block_that_differs_is_refused",
        "verifiers/test_image_hundred:test_a_hundred_charts_are_alike_themselves_and_neither_blank_pictures_nor_other_charts"),
        "100 pages: the charts are drawn here"),
    27: Row("html: 40 pages, as driver and person, flake at most 1 of 1,000", (
        "verifiers/test_html:test_a_forged_page_is_worth_nothing",
        "verifiers/test_html:test_an_honest_page_is_accepted", "benchmarks/html_flakes.py"),
        "the rate: 153 runs of its 40 pages had no flake, of the 1,000 that it takes"),
    28: Row("no packet leaves: office, browser, service", (
        "artifacts/test_office:test_links_reach_neither_the_network_nor_files_of_the_machine",
        "artifacts/test_browser_box:test_the_box_has_no_network_no_files_and_no_other_process",
        "verifiers/test_html:test_a_page_reaches_no_server_and_what_it_asked_for_is_told",
        "verifiers/test_service:test_the_box_has_no_network_and_no_expected_value")),
    29: Row("remote picture, WEBSERVICE, DDE, macro never run", (
        "artifacts/test_office:test_links_reach_neither_the_network_nor_files_of_the_machine",
        "verifiers/test_xlsx:test_macros_are_refused_unless_they_are_asked_for"),
        "a macro that starts by itself, in LibreOffice"),
    30: Row("sqlite: exactly these rows", (
        "verifiers/test_state:test_sixty_drawn_twins_one_with_exactly_the_change",
        "verifiers/test_state:test_exactly_the_expected_row_has_changed",
        "verifiers/test_state:test_the_log_beside_a_database_belongs_to_its_state")),
    31: Row("json, csv, parquet: strictness by option", (
        "verifiers/test_table:test_csv", "verifiers/test_table:test_json",
        "verifiers/test_table:test_strictness_by_option", "verifiers/test_table:test_parquet")),
    32: Row("service: start, hidden question, restart, port", (
        "verifiers/test_service:test_a_server_that_keeps_its_state_is_right",
        "verifiers/test_service:test_a_forged_server_is_wrong",
        "verifiers/test_service_lines:test_a_server_of_lines_is_right")),
    33: Row("trajectory: 60 command forms, undecided named", (
        "verifiers/test_trajectory_paths:test_what_a_command_writes",
        "verifiers/test_trajectory_paths:test_what_a_command_reads",
        "verifiers/test_trajectory_paths:test_the_undecided_has_the_value_that_a_task_gives_it")),
    34: Row("a judge sees every step and file by tool; citations hold", (
        "judges/test_looks:test_a_look_is_answered_by_what_it_names",
        "judges/test_trajectory_evidence:test_every_judge_sees_calls_arguments_and_results_in_order",
        "judges/test_workspace_evidence:test_a_verdict_that_cites_files_or_words_that_are_not_there_is_unread")),
    35: Row("injection in 12 places moves no scripted verdict", (
        "judges/test_looks:test_no_attempt_in_any_place_moves_the_verdict_of_a_judge_that_repeats_it",
        "judges/test_injection:test_every_canary_is_shown_between_its_marks")),
    36: Row("image parts reach vision models; text models unscored", (
        "judges/test_pictures:test_a_server_gets_the_bytes_of_the_picture",
        "judges/test_drawn_pages:test_a_server_gets_the_bytes_of_a_page")),
    37: Row("cut is unscored; in pieces equals whole", (
        "judges/test_workspace_evidence:test_files_over_the_budget_leave_no_value_or_the_lowest_and_are_never_cut",
        "judges/test_workspace_evidence:test_files_read_in_pieces_reach_the_judge_whole")),
    38: Row("judge prefix shared by 90 % across candidates", (
        "judges/test_prefixes:test_two_answers_to_a_question_share_the_beginning_of_every_prompt",
        "benchmarks/judge_prefixes.py")),
    39: Row("audit: of 30 planted faults at least 29; alarms on clean at most 2 %", (
        "env/audit/test_env_audit:test_a_planted_fault_is_found_by_its_check",
        "env/audit/test_env_audit:test_a_near_miss_is_no_fault", "benchmarks/environment_audits.py")),
    40: Row("audit of OpenEnv, verifiers, NeMo-Gym ends, no import in static", (
        "env/audit/test_formats:test_nothing_of_a_folder_is_imported",
        "env/audit/test_formats:test_sound_environments_have_no_finding")),
    41: Row("`not run` never counts as pass", (
        "env/audit/test_formats:test_every_check_has_a_status_and_what_cant_run_is_no_pass",
        "env/audit/test_running_checks:test_what_this_machine_lacks_is_named_and_no_pass")),
    42: Row("an audit rerun: same but seconds", (
        "env/audit/test_env_audit:test_an_audit_that_broke_off_goes_on_and_sees_changed_tasks",)),
    43: Row("trainers, serve, rerank, adapters take workspaces", (
        "workspaces/test_ways:test_a_right_workspace_is_paid_a_forged_one_is_not_and_an_unscored_one_has_no_value",
        "workspaces/test_rows:test_requests_hold_texts_and_tars_and_name_no_paths",
        "serve/test_forms:test_tars_folders_and_strings_of_one_request_are_scored_and_a_bad_one_costs_no_other",
        "contracts/test_trl:test_a_grpo_trainer_trains_on_the_files_of_rollouts_and_leaves_out_the_lost_ones",
        "env/test_written_harbor:test_the_grader_gives_the_score_of_the_verifier"),
        "`verikit train` samples only text; runs of other trainers than TRL's"),
    44: Row("speed: files 500/s, docx 40/s, xlsx 1.5 CPU s, html 1 s", ("benchmarks/workspace_speed.py",),
            "the time of starting an office"),
    45: Row("no new core dependency; extras office, web, image", (
        "test_packaging:test_the_wheel_installs_with_all_it_needs_and_no_torch",
        "test_packaging:test_the_wheel_holds_every_module_and_nothing_else")),
    46: Row("docs: every example run by tests", (
        "test_docs_verifiers:test_each_verifier_shows_an_accepted_and_a_refused_example",)),
}  # fmt: skip


def test_every_row_is_there_and_tells_what_shows_it_or_that_nothing_does():
    assert list(ROWS) == list(range(1, 47))
    assert not [number for number, row in ROWS.items() if not row.shown and not row.unshown]


@pytest.mark.parametrize("number", ROWS)
def test_the_tests_and_scripts_of_a_row_exist(number):
    for place in ROWS[number].shown:
        module, colon, name = place.partition(":")
        if not colon:
            assert (ROOT / module).is_file(), place
            continue
        tree = ast.parse((ROOT / "tests" / f"{module}.py").read_text("utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, place
