import Foundation
import Reactor
import Simulator
import TLS
import TestSupport
import Testing

/// A situation in which a gateway can't work, or not as it should, and the line that the doctor has for it.
struct BrokenSituation: Sendable, CustomTestStringConvertible {
    /// The situation that the doctor meets.
    struct Scene {
        /// They override the world's settings.
        var settings: [String: String] = [:]
        /// A gateway that has to run meanwhile.
        var gateway: Gateway?
    }

    enum Level: String, Sendable {
        case bad = "BAD "
        case note = "note"
    }

    let name: String
    let level: Level
    let subject: String
    /// The parts of the sentence, in their order.
    let sentence: [String]
    let make: @Sendable (World) async throws -> Scene

    init(
        _ name: String, _ level: Level, _ subject: String, _ sentence: String...,
        make: @escaping @Sendable (World) async throws -> Scene
    ) {
        (self.name, self.level, self.subject) = (name, level, subject)
        (self.sentence, self.make) = (sentence, make)
    }

    var testDescription: String { name }

    /// A remedy that nobody should follow here.
    static let lossy = ["drop it", "remove the folder"]

    /// Whether a line of the doctor's says it.
    func isNamed(in line: Substring) -> Bool {
        line.hasPrefix("\(level.rawValue)  \(subject): ") && isSaid(in: line)
    }

    /// Whether the line has the sentence.
    func isSaid(in line: Substring) -> Bool {
        var remaining = line
        for part in sentence {
            guard let place = remaining.firstRange(of: part) else { return false }
            remaining = remaining[place.upperBound...]
        }
        return true
    }

    static let all = logins + unfit + databases + credentials + surroundings
}

extension BrokenSituation {
    /// The world's database for another user, who may have a password.
    private static func databaseURL(_ world: World, for user: String) throws -> String {
        try #require(world.settings["DATABASE_URL"]).replacing("carillon@", with: user + "@")
    }

    /// PostgreSQL answers, and does not let the gateway in.
    static let logins = [
        BrokenSituation(
            "the database's name is wrong", .bad, "database", "/orchard", "can't be used: PostgreSQL has no database of"
        ) { world in
            let url = try databaseURL(world, for: "carillon").replacing(/\/world_[0-9a-f]+/, with: "/orchard")
            return Scene(settings: ["DATABASE_URL": url])
        },
        BrokenSituation(
            "the password is wrong", .bad, "database", "gardener@", "PostgreSQL refuses the user or the password"
        ) { world in
            let user = DatabaseServer.guardedRole + ":pass-of-a-test"
            return Scene(settings: ["DATABASE_URL": try databaseURL(world, for: user)])
        },
        BrokenSituation(
            "the password is missing", .bad, "database", "gardener@", "PostgreSQL refuses the user or the password"
        ) { world in
            Scene(settings: ["DATABASE_URL": try databaseURL(world, for: DatabaseServer.guardedRole)])
        },
        BrokenSituation("the role is unknown", .bad, "database", "nobody_known@", "PostgreSQL has no such role") {
            world in
            Scene(settings: ["DATABASE_URL": try databaseURL(world, for: "nobody_known")])
        },
    ]

    /// A full disk has a journey of its own (`ImpairedDatabaseTests`).
    private static let databases = [
        BrokenSituation("the database is unreachable", .bad, "database", "no PostgreSQL server answers") { _ in
            Scene(settings: ["DATABASE_URL": "postgresql://carillon@/garden?host=%2Fnowhere"])
        },
        BrokenSituation("the database is read-only", .bad, "database", "the database is read-only: all work waits") {
            world in
            try await world.makeReadOnly()
            return Scene()
        },
        BrokenSituation(
            "the schema is newer", .bad, "schema", "was made by another version of Carillon",
            "0099_later is not known to this program"
        ) { world in
            try await world.migrate()
            try await world.database { pool in
                try await pool.script(
                    "INSERT INTO schema_migrations (position, name, checksum) VALUES (99, '0099_later', '\\x00')")
            }
            return Scene()
        },
        // The server of these tests is so.
        BrokenSituation(
            "the database does not flush", .note, "durability",
            "a crash of the database's machine may lose or damage accepted messages: fsync = off"
        ) { _ in Scene() },
        BrokenSituation("the master key is wrong", .bad, "master key", "the master key") { world in
            try await world.gateway().stopGently()
            let key = world.folder.appending(path: "other.key")
            try Data((0..<32).map { UInt8(32 - $0) }).write(to: key)
            return Scene(settings: ["MASTER_KEY_FILE": key.path(percentEncoded: false)])
        },
    ]

    private static let credentials = [
        BrokenSituation("a credential has expired", .bad, "app garden", "APNs production: certificate ", "has expired")
        {
            world in
            try await world.submitCertificate()
            // Nobody can submit one that has expired.
            try await world.database { pool in
                try await pool.script("UPDATE credentials SET facts = facts || '{\"not_after_seconds\": 1700000000}'")
            }
            return Scene()
        },
        BrokenSituation(
            "a credential expires soon", .note, "app garden", "APNs production: certificate ", "expires in "
        ) { world in
            try await world.submitCertificate()
            return Scene()
        },
        BrokenSituation(
            "a credential is refused", .bad, "app garden", "is refused by the provider: InvalidProviderToken"
        ) { world in
            try await world.submitCertificate()
            // A gateway writes the same row (`CertificateTests`).
            try await world.database { pool in
                try await pool.script(
                    """
                    INSERT INTO lane_blocks (credential_id, reason, until)
                    SELECT id, 'InvalidProviderToken', now() + interval '1 hour' FROM credentials
                    """)
            }
            return Scene()
        },
        BrokenSituation(
            "Google refuses a service account", .bad, "app garden",
            "pushes wait: the credential for fcm production gets no token", "(invalid_grant"
        ) { world in
            let gateway = try await world.gateway()
            try await world.fill(.garden, [], through: gateway)
            let deleted = String(
                decoding: try ServiceAccount(projectID: "tower-1").file(tokenURI: world.google.url + "/token"),
                as: UTF8.self)
            try await gateway.api.expect(
                201, "POST", "/v1/apps/garden/credentials",
                #"{"provider": "fcm", "kind": "service_account", "activate": true, "service_account": \#(deleted)}"#)
            try await gateway.registerFCM(["live-0000000000000000"])
            let message = try await gateway.send(.garden, audience: #"{"all": true}"#)
            try await eventually("the account to name the cause") {
                try await world.command(["messages", "show", message], gateway).printed.contains("(invalid_grant")
            }
            return Scene(gateway: gateway)
        },
        BrokenSituation(
            "no credential covers a topic", .note, "app garden",
            "apns production, topic com.example.forest: no active credential covers it; registered tokens that need one: 1"
        ) { world in
            let gateway = try await world.gateway()
            try await world.fill(.garden, [], through: gateway)
            let token = [Device](.live, 1)[0].token
            try await gateway.api.expect(
                201, "PUT", "/v1/apps/garden/devices/phone",
                #"{"provider": "apns", "topic": "com.example.forest", "token": "\#(token)"}"#)
            try await gateway.stopGently()
            return Scene()
        },
    ]

    private static let surroundings = [
        BrokenSituation("the gateway does not run", .bad, "gateway", "it does not run: nothing listens at 127.0.0.1:") {
            _ in
            Scene(settings: ["LISTEN": "127.0.0.1:\(StandIn.freePort())"])
        },
        BrokenSituation(
            "the gateway is not ready", .bad, "gateway", "and is not ready: The database is read-only",
            "(database_read_only)"
        ) { world in
            let gateway = try await world.gateway()
            try await world.makeReadOnly()
            return Scene(
                settings: ["LISTEN": gateway.api.base.absoluteString.replacing("http://", with: "")], gateway: gateway)
        },
        BrokenSituation("another program has the gateway's port", .bad, "gateway", "another program answers at ") {
            world in
            let file = try world.writeServerCertificate()
            let place = world.google.url.replacing("https://", with: "")
            return Scene(settings: ["LISTEN": place, "TLS_CERTIFICATE": file, "TLS_KEY": file])
        },
        BrokenSituation("a provider lacks HTTP/2", .bad, "APNs", "answers without HTTP/2 (ALPN h2)") { world in
            let gateway = try await world.gateway()
            try await world.fill(.garden, [], through: gateway)
            try await gateway.stopGently()
            // A gateway's own port speaks HTTP/1.1 alone.
            let file = try world.writeServerCertificate()
            let peer = try await world.ready(try world.start(settings: ["TLS_CERTIFICATE": file, "TLS_KEY": file]))
            return Scene(settings: ["APNS_PRODUCTION_URL": peer.api.base.absoluteString], gateway: peer)
        },
        BrokenSituation("a setting is unknown", .note, "settings", "CARILLON_LISTNE is not a setting of this version") {
            _ in
            Scene(settings: ["LISTNE": "127.0.0.1:0"])
        },
        BrokenSituation(
            "plain HTTP is public", .note, "TLS", "the API listens on 0.0.0.0:0 without TLS: the network can read"
        ) { _ in Scene(settings: ["LISTEN": "0.0.0.0:0"]) },
        BrokenSituation(
            "a chain lacks its intermediate", .note, "TLS chain", "lacks the certificate of its issuer",
            "Carillon test authority"
        ) { world in
            let file = try world.writeServerCertificate()
            return Scene(settings: ["TLS_CERTIFICATE": file, "TLS_KEY": file])
        },
    ]
}

extension World {
    /// Gives the app "garden" a certificate for two days.
    fileprivate func submitCertificate() async throws {
        let gateway = try await gateway()
        try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "Garden"}"#)
        try await gateway.submit(try Self.certificate(of: authority), as: .pem, in: folder)
        try await gateway.stopGently()
    }

    /// Writes a certificate without the authority that issued it, and its key; returns the file's path.
    fileprivate func writeServerCertificate() throws -> String {
        let identity = try authority.issue(
            CertificateSubject(commonName: "localhost"), names: ["127.0.0.1"],
            validity: .days(60, from: Clocks.wallNow()))
        let file = folder.appending(path: "public.pem")
        try Data(try identity.pem()).write(to: file)
        return file.path(percentEncoded: false)
    }
}
