/// The schema's history as it is compiled into the program: one entry a file of this folder, in order.
package enum EmbeddedMigrations {
    // The build spells a leading digit as an underscore.
    package static let inOrder: [(name: String, sql: [UInt8])] = [
        ("0001_registry_and_queue", PackageResources._001_registry_and_queue_sql),
        ("0002_lapsed_parcels", PackageResources._002_lapsed_parcels_sql),
        ("0003_suspicions_in_turn", PackageResources._003_suspicions_in_turn_sql),
        ("0004_routes_per_app", PackageResources._004_routes_per_app_sql),
        ("0005_feedback_numbers", PackageResources._005_feedback_numbers_sql),
        ("0006_registry_at_large", PackageResources._006_registry_at_large_sql),
        ("0007_messages_at_large", PackageResources._007_messages_at_large_sql),
        ("0008_push_history", PackageResources._008_push_history_sql),
        ("0009_messages_in_turn", PackageResources._009_messages_in_turn_sql),
        ("0010_other_environment", PackageResources._010_other_environment_sql),
        ("0011_api_keys", PackageResources._011_api_keys_sql),
        ("0012_feedback_retention", PackageResources._012_feedback_retention_sql),
        ("0013_ready_by_format", PackageResources._013_ready_by_format_sql),
        ("0014_doubts_from_home", PackageResources._014_doubts_from_home_sql),
        ("0015_found_elsewhere", PackageResources._015_found_elsewhere_sql),
        ("0017_life_of_a_message", PackageResources._017_life_of_a_message_sql),
        ("0018_local_hours", PackageResources._018_local_hours_sql),
        ("0023_vacuum_at_size", PackageResources._023_vacuum_at_size_sql),
        ("0024_message_rates", PackageResources._024_message_rates_sql),
        ("0025_quiet_hours", PackageResources._025_quiet_hours_sql),
        ("0026_progress_of_a_message", PackageResources._026_progress_of_a_message_sql),
        ("0030_narrow_rows_go_with_theirs", PackageResources._030_narrow_rows_go_with_theirs_sql),
        ("0032_project_quotas", PackageResources._032_project_quotas_sql),
        ("0033_plans_by_app", PackageResources._033_plans_by_app_sql),
        ("0034_routes_asked_once", PackageResources._034_routes_asked_once_sql),
        ("0035_broadcasts_read_less", PackageResources._035_broadcasts_read_less_sql),
        ("0036_resting_lanes_are_told", PackageResources._036_resting_lanes_are_told_sql),
        ("0037_pace_of_a_message", PackageResources._037_pace_of_a_message_sql),
    ]
}
