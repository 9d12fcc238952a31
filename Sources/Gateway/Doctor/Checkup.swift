import CredentialKeeping
import Foundation
import JSON
import Postgres
import PushModel
import Reactor
import Store

/// All checks, one after the other: what a later one needs of an earlier one, and does not get, it leaves out.
struct Checkup {
    private static let skewMax: Duration = .seconds(2)
    private static let filesWanted = 4_096
    private static let appsAtOnce = 500
    private static let daysBeforeExpiry: Int64 = 30

    func run() async -> [Finding] {
        let settings: Settings
        do { settings = try SettingsReader().read() } catch {
            return [.bad("settings", "\(error)", "correct it; carillon settings lists them all")]
        }
        var findings = [Finding.good("settings", "all of them can be read"), files()]
        findings += await database(settings)
        findings += await ProviderCheck(settings).run()
        return findings
    }

    private func files() -> Finding {
        let text = (try? String(contentsOfFile: "/proc/self/limits", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        guard let allowed = line?.split(separator: " ").dropFirst(3).first.flatMap({ Int($0) }) else {
            return .note("open files", "their limit can't be read")
        }
        guard allowed < Self.filesWanted else { return .good("open files", "\(allowed) allowed") }
        return .note(
            "open files", "\(allowed) allowed; many clients at once need more",
            "LimitNOFILE=65536 in the unit file, or ulimit -n 65536")
    }

    private func database(_ settings: Settings) async -> [Finding] {
        let found: PostgresSettings?
        if let url = settings.databaseURL {
            do { found = try PostgresSettings(parsing: url) } catch {
                return [
                    .bad("database", "CARILLON_DATABASE_URL can't be used: \(PostgresWords.of(error))", "correct it")
                ]
            }
        } else {
            found = PrivateServer.running(in: settings.dataFolder)
        }
        guard let found else {
            return [
                .note(
                    "database",
                    "the private PostgreSQL in \(settings.dataFolder) is not running, so it was not looked into",
                    "carillon serve starts it; run the doctor beside it")
            ]
        }
        let loop: ReactorLoop
        do { loop = try ReactorLoop(name: "doctor") } catch { return [.bad("database", "\(error)", "try again")] }
        var bounds = PoolSettings()
        bounds.waitMax = .seconds(10)
        let pool = PostgresPool(found, pool: bounds, loop: loop)
        let findings = await look(into: pool, settings)
        await pool.close()
        loop.stop()
        return findings
    }

    private static let hello = Statement(
        unprepared:
            "SELECT current_setting('server_version'), clock_timestamp(), current_setting('server_version_num')::int")

    private func look(into pool: PostgresPool, _ settings: Settings) async -> [Finding] {
        var findings: [Finding] = []
        do {
            let asked = Clocks.wallNow()
            let answer = try await pool.read(Query(Self.hello))
            findings.append(.good("database", "PostgreSQL \(try answer.text(0, 0)) answers"))
            findings.append(clock(Clocks.wallNow(), asked, theirs: try answer.instant(0, 1)))
        } catch {
            let words = await pool.census().outage.map(PostgresWords.of) ?? "\(error)"
            return [.bad("database", "it can't be used: \(words)", "start it, and look at CARILLON_DATABASE_URL")]
        }
        do {
            let missing = try await Migrator(pool: pool).missing()
            findings.append(
                missing.isEmpty
                    ? .good("schema", "it is this program's")
                    : .note("schema", "\(missing.count) migrations are missing", "carillon migrate, or the next serve"))
            guard missing.isEmpty else { return findings }
        } catch {
            return findings + [.bad("schema", "\(error)", "run the program that belongs to it")]
        }
        return findings + (await secrets(pool, settings))
    }

    private func clock(_ now: WallInstant, _ asked: WallInstant, theirs: WallInstant) -> Finding {
        let skew = theirs < asked ? asked - theirs : theirs > now ? theirs - now : .zero
        guard skew > Self.skewMax else { return .good("clock", "it agrees with the database's") }
        return .bad(
            "clock",
            "it differs from the database's by \(skew.components.seconds) s; provider tokens of a wrong clock are refused",
            "synchronise both (timedatectl set-ntp true)")
    }

    private func secrets(_ pool: PostgresPool, _ settings: Settings) async -> [Finding] {
        let file = settings.masterKeyFile ?? settings.dataFolder + "/master-key"
        let stores = Stores(pool: pool)
        let keeper: CredentialKeeper
        do {
            guard try await stores.credentials.masterKeyProof() != nil else {
                return [.note("master key", "nothing is sealed yet")]
            }
            keeper = CredentialKeeper(
                store: stores.credentials, vault: try Vault(masterKey: try KeyFiles.masterKey(at: file)),
                tokenEndpoint: NoEndpoint(), allowsPrivateTargets: settings.allowsPrivateTargets)
            try await keeper.proveMasterKey()
        } catch {
            return [.bad("master key", "\(error)", "restore the key that sealed this database's secrets to \(file)")]
        }
        var findings = [Finding.good("master key", "it opens what is sealed")]
        do {
            var apps: [AppRecord] = []
            var page: [AppRecord] = []
            repeat {
                page = try await stores.registry.apps(after: apps.last?.id, limit: Self.appsAtOnce)
                apps += page
            } while page.count == Self.appsAtOnce
            let blocks = try await stores.credentials.blocks()
            for app in apps { findings += try await credentials(of: app, keeper, blocks) }
        } catch {
            findings.append(.bad("credentials", "they can't be read: \(error)", "look at the database"))
        }
        return findings
    }

    private func credentials(
        of app: AppRecord, _ keeper: CredentialKeeper, _ blocks: [LaneBlock]
    ) async throws -> [Finding] {
        let subject = "app \(app.slug)"
        let active = try await keeper.list(app: app.id).filter { $0.state == .active }
        guard !active.isEmpty else {
            return [
                .note(
                    subject, "no active credential: its pushes wait",
                    "carillon credentials add --app \(app.slug) --help")
            ]
        }
        return active.map { credential in
            let name =
                "\(credential.provider.name) \(credential.environment.name) \(credential.kind.rawValue) \(credential.id.value)"
            do { _ = try keeper.material(of: credential) } catch {
                return .bad(subject, "\(name) can't be opened: \(error)", "hand it in again")
            }
            if let block = blocks.first(where: { $0.credential == credential.id }) {
                return .bad(
                    subject, "\(name) is refused by the provider: \(block.reason)",
                    "hand in a good one, and activate it")
            }
            let facts = (try? JSONReader.read(credential.facts))?.object
            guard let end = facts?["not_after_seconds"]?.integer else { return .good(subject, "\(name) is in use") }
            let days = (end - Clocks.wallNow().secondsSince1970) / 86_400
            if end <= Clocks.wallNow().secondsSince1970 {
                return .bad(subject, "\(name) has expired", "renew it at Apple, hand it in, and activate it")
            }
            return days < Self.daysBeforeExpiry
                ? .note(subject, "\(name) expires in \(days) days", "renew it at Apple, hand it in, and activate it")
                : .good(subject, "\(name) is in use, and valid for \(days) days")
        }
    }
}

/// The doctor fetches no access tokens.
private struct NoEndpoint: TokenEndpoint {
    func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer {
        throw .unreachable("nobody asks")
    }
}
