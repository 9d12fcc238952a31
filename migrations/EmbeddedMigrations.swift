/// The schema as it is compiled into the program: one entry for each file of this folder, in order.
package enum EmbeddedMigrations {
    // The build spells a leading digit as an underscore.
    package static let inOrder: [(name: String, sql: [UInt8])] = [
        ("0001_registry", PackageResources._001_registry_sql),
        ("0002_messages", PackageResources._002_messages_sql),
        ("0003_parcels", PackageResources._003_parcels_sql),
        ("0004_feedback", PackageResources._004_feedback_sql),
        ("0005_credentials_and_keys", PackageResources._005_credentials_and_keys_sql),
        ("0006_clocks_and_caps", PackageResources._006_clocks_and_caps_sql),
        ("0007_wake_up", PackageResources._007_wake_up_sql),
        ("0008_items", PackageResources._008_items_sql),
    ]
}
