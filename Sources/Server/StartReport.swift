import Basis
import Logging
import Postgres
import Store

/// The line of the log that says which program started, where it listens, and with which database and settings.
package struct StartReport: Sendable {
    package let database: String
    package let isEncrypted: Bool
    /// The settings that differ from their defaults, without their secrets.
    package let settings: [String: String]

    init(_ settings: Settings, _ database: PostgresSettings) {
        self.database = settings.databaseURL == nil ? "private" : database.place
        isEncrypted = settings.tlsCertificateFile != nil
        self.settings = settings.changes
    }

    package func metadata(listen: ListenAddress) -> Logger.Metadata {
        [
            "version": "\(ProgramVersion.current)", "listen": "\(listen)", "tls": isEncrypted ? "yes" : "no",
            "database": "\(database)",
            "schema": "\(Migrator.embedded.last.map { SchemaVersion.of($0.name) } ?? "none")",
            "settings": .dictionary(settings.mapValues { .string($0) }),
        ]
    }
}

/// The number of the last migration that a database has, such as "0007".
enum SchemaVersion {
    static func of(_ migration: String) -> Substring { migration.prefix { $0 != "_" } }

    /// The number before the first of the applied migrations; "none" for a new database.
    static func before(_ migration: String) -> Substring {
        let names = Migrator.embedded.map(\.name)
        guard let place = names.firstIndex(of: migration), place > 0 else { return "none" }
        return of(names[place - 1])
    }
}

extension Duration {
    /// The form of the log, in seconds: "0.4s", "12s".
    package var logText: String {
        let tenths = wholeNanoseconds / 100_000_000
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10)s" : "\(tenths / 10)s"
    }
}
