import Credentials
import Foundation
import JSON
import Postgres
import PrivatePostgres
import Reactor
import RegistryRules
import Store

/// All checks, one after the other. A check is left out if an earlier one did not give what it needs.
struct Checkup {
    private static let appsAtOnce = 500

    func run() async -> [Finding] {
        let settings: Settings
        do { settings = try SettingsReader().read() } catch {
            return [.bad("settings", "\(error)", "correct it; carillon settings lists them all")]
        }
        var findings = [Finding.good("settings", "all are valid"), files()]
        findings += KeyFiles.exposed(settings).map(DoctorRules.exposed)
        findings += listener(settings)
        let report = await database(settings)
        findings += report.findings
        findings += await ProviderCheck(settings: settings).run(used: report.used)
        return findings
    }

    private func files() -> Finding {
        DoctorRules.files(limits: (try? String(contentsOfFile: "/proc/self/limits", encoding: .utf8)) ?? "")
    }

    private func listener(_ settings: Settings) -> [Finding] {
        guard let files = ListenerFiles(settings) else { return [] }
        do throws(StartFault) {
            return [DoctorRules.listener(notAfterSeconds: try files.read().notAfterSeconds, now: Clocks.wallNow())]
        } catch { return [.bad("TLS", error.description, "correct it; the gateway does not start with it")] }
    }

    struct DatabaseInspection {
        var findings: [Finding] = []
        /// The uses of the active credentials; nil: they can't be read.
        var used: Set<ProviderUse>?

        init(_ findings: Finding...) { self.findings = findings }
    }

    private func database(_ settings: Settings) async -> DatabaseInspection {
        let found: PostgresSettings?
        if let url = settings.databaseURL {
            do { found = try PostgresSettings(parsing: url) } catch {
                return DatabaseInspection(
                    .bad(
                        "database", "CARILLON_DATABASE_URL can't be used: \(DatabaseErrorText.of(error))", "correct it")
                )
            }
        } else {
            found = PrivateServer.running(in: settings.dataFolder)
        }
        guard let found else {
            return DatabaseInspection(
                DoctorRules.privateServer(fault: Self.privateServerFault(settings), in: settings.dataFolder))
        }
        let loop: ReactorLoop
        do { loop = try ReactorLoop(name: "doctor") } catch {
            return DatabaseInspection(.bad("database", "\(error)", "try again"))
        }
        var bounds = PoolSettings()
        bounds.waitMax = .seconds(10)
        let pool = PostgresPool(found, pool: bounds, loop: loop)
        let place: DatabasePlace = settings.databaseURL == nil ? .folder(settings.dataFolder) : .named(found)
        let inspection = await inspection(into: pool, place, settings)
        await pool.close()
        loop.stop()
        return inspection
    }

    /// The fault that would keep the private PostgreSQL from starting; nil: none.
    private static func privateServerFault(_ settings: Settings) -> PrivateServerError? {
        do throws(PrivateServerError) {
            try PrivateServer.check(dataFolder: settings.dataFolder)
            return nil
        } catch { return error }
    }

    private static let hello = Statement(
        unprepared: """
            SELECT current_setting('server_version'), clock_timestamp(), current_setting('log_error_verbosity'),
                coalesce(current_setting('log_parameter_max_length', true), '0'),
                coalesce(current_setting('log_parameter_max_length_on_error', true), '0')
            """)

    private func inspection(into pool: PostgresPool, _ place: DatabasePlace, _ settings: Settings) async
        -> DatabaseInspection
    {
        var inspection = DatabaseInspection()
        do {
            let asked = Clocks.wallNow()
            inspection.findings += try await pool.read(Query(Self.hello)).one { row throws(PostgresError) in
                [
                    .good("database", "PostgreSQL \(try row.text()) answers"),
                    DoctorRules.clock(asked: asked, answered: Clocks.wallNow(), theirs: try row.instant()),
                    DoctorRules.databaseLog(
                        verbosity: try row.text(), parameters: try row.text(), parametersOnError: try row.text()),
                ]
            }
        } catch {
            let text = await pool.census().outage.map(DatabaseErrorText.of) ?? "\(error)"
            return DatabaseInspection(
                .bad("database", "it can't be used: \(text)", "start it, and check CARILLON_DATABASE_URL"))
        }
        do {
            let missing = try await Migrator(pool: pool).missing()
            inspection.findings.append(DoctorRules.schema(migrationsMissing: missing.count))
            guard missing.isEmpty else { return inspection }
        } catch {
            inspection.findings.append(.bad("schema", place.complaint(of: error), place.remedy))
            return inspection
        }
        await secrets(pool, settings, &inspection)
        do {
            inspection.findings += try await Stores(pool: pool).messages.waits().map(DoctorRules.wait)
            inspection.findings += try await Stores(pool: pool).parcels
                .refusedRoutes(settings.suspicionRule, within: SuspicionRule.windowMax).map(DoctorRules.refused)
        } catch {
            inspection.findings.append(.bad("routes", "they can't be read: \(error)", "check the database"))
        }
        do {
            let zones = try await Stores(pool: pool).registry.unknownTimeZones()
            inspection.findings.append(DoctorRules.timeZones(unknown: zones))
        } catch {
            inspection.findings.append(.note("time zones", "they can't be counted: \(error)", "try again"))
        }
        do {
            let counts = try await Stores(pool: pool).subscriptions.counts(of: nil)
            inspection.findings.append(DoctorRules.wakeUp(counts, now: Clocks.wallNow()))
        } catch {
            inspection.findings.append(.bad("wake-up", "its counts can't be read: \(error)", "check the database"))
        }
        return inspection
    }

    private func secrets(_ pool: PostgresPool, _ settings: Settings, _ inspection: inout DatabaseInspection) async {
        let file = settings.masterKeyFile ?? settings.dataFolder + "/master-key"
        let stores = Stores(pool: pool)
        let service: CredentialService
        do {
            guard try await stores.credentials.masterKeyProof() != nil else {
                return inspection.findings.append(.note("master key", "nothing is sealed yet"))
            }
            service = CredentialService(
                store: stores.credentials, vault: try Vault(masterKey: try KeyFiles.masterKey(at: file)),
                tokenEndpoint: NoEndpoint(), targets: settings.targetHosts)
            try await service.proveMasterKey()
        } catch {
            inspection.findings.append(
                .bad("master key", "\(error)", "restore the key that sealed this database's secrets to \(file)"))
            return
        }
        inspection.findings.append(.good("master key", "it opens the sealed secrets"))
        do {
            var apps: [AppRecord] = []
            var page: [AppRecord] = []
            repeat {
                page = try await stores.registry.apps(after: apps.last?.id, limit: Self.appsAtOnce)
                apps += page
            } while page.count == Self.appsAtOnce
            let blocks = try await stores.credentials.blocks()
            inspection.used = []
            for app in apps { try await credentials(of: app, service, blocks, &inspection) }
        } catch {
            inspection.used = nil
            inspection.findings.append(.bad("credentials", "they can't be read: \(error)", "check the database"))
        }
    }

    private func credentials(
        of app: AppRecord, _ service: CredentialService, _ blocks: [LaneBlock], _ inspection: inout DatabaseInspection
    ) async throws {
        let subject = "app \(app.slug)"
        let active = try await service.list(app: app.id).filter { $0.state == .active }
        guard !active.isEmpty else {
            return inspection.findings.append(
                .note(
                    subject, "no active credential: its pushes wait",
                    "carillon credentials add --app \(app.slug) --help"))
        }
        for credential in active {
            inspection.used?.insert(ProviderUse(provider: credential.provider, environment: credential.environment))
        }
        for credential in active {
            let name =
                "\(credential.provider.name) \(credential.environment.name) \(credential.kind.rawValue) \(credential.id.value)"
            do { _ = try await service.credential(of: credential) } catch {
                inspection.findings.append(.bad(subject, "\(name) can't be opened: \(error)", "add it again"))
                continue
            }
            let facts = (try? JSONReader.read(credential.facts))?.object
            inspection.findings.append(
                DoctorRules.credential(
                    subject, name, notAfterSeconds: facts?["not_after_seconds"]?.integer,
                    refusedFor: blocks.first { $0.credential == credential.id }.map { "\($0.reason)" },
                    now: Clocks.wallNow()))
        }
    }
}

/// The doctor fetches no access tokens.
private struct NoEndpoint: TokenEndpoint {
    func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer {
        throw .unreachable("the doctor fetches no access tokens")
    }
}
