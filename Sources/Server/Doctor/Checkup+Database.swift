import CommandLine
import Postgres
import PrivatePostgres
import Reactor
import RegistryRules
import Store
import WakeUpStore

extension Checkup {
    struct DatabaseInspection {
        var findings: [Finding] = []
        /// The uses of the active credentials; nil: they can't be read.
        var used: Set<ProviderUse>?

        init(_ findings: Finding...) { self.findings = findings }
    }

    func database(_ settings: Settings) async -> DatabaseInspection {
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
            let service = PackagedService()
            return DatabaseInspection(
                DoctorRules.privateServer(
                    fault: Self.privateServerFault(settings), in: settings.dataFolder,
                    service: service.isHere ? service : nil), DoctorRules.databaseUnread)
        }
        let loop: ReactorLoop
        do { loop = try ReactorLoop(name: "doctor") } catch {
            return DatabaseInspection(.bad("database", "\(error)", "try again"))
        }
        let pool = PostgresPool(found, loop: loop)
        let place: DatabasePlace = settings.databaseURL == nil ? .folder(settings.dataFolder) : .named(found)
        var inspection = await inspection(into: pool, place, settings, found, loop)
        if settings.databaseURL != nil { inspection.findings += DoctorRules.variables(LibpqEnvironment.names) }
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

    /// Reads nothing of the tables that the checks read. Missing tables fail it at once.
    private static let touch = Statement(
        unprepared: """
            SELECT FROM apps, credentials, routes, registrations, messages, parcels, subscriptions WHERE false
            """)

    private static func waitsForLock(_ pool: PostgresPool) async -> Bool {
        do throws(PostgresError) {
            _ = try await pool.read(Query(touch), deadline: .seconds(4))
            return false
        } catch { return error == .deadlinePassed || error.sqlState == .queryCanceled }
    }

    /// Asks whether the database answers and can carry a gateway.
    ///
    /// - Returns: with `isUsable`, the other checks may follow.
    private func basics(
        of pool: PostgresPool, _ place: DatabasePlace, _ database: PostgresSettings, _ loop: ReactorLoop
    ) async -> (inspection: DatabaseInspection, isUsable: Bool) {
        var inspection = DatabaseInspection()
        do throws(PostgresError) {
            let asked = Clocks.wallNow()
            let findings: [Finding] = try await pool.read(Query(Self.hello)).one { row throws(PostgresError) in
                [
                    .good("database", "PostgreSQL \(try row.text()) answers"),
                    DoctorRules.clock(asked: asked, answered: Clocks.wallNow(), theirs: try row.instant()),
                    DoctorRules.databaseLog(
                        verbosity: try row.text(), parameters: try row.text(), parametersOnError: try row.text()),
                ]
            }
            if let condition = try await DatabaseProbe.condition(of: pool) {
                inspection.findings = [DoctorRules.impaired(condition)] + findings.dropFirst()
            } else {
                inspection.findings = findings
            }
            inspection.findings.append(DoctorRules.durability(try await DatabaseDurability.read(pool)))
            var faults = try await DatabaseFitness.faults(of: pool, database, loop)
            var blocking = try await DatabaseFitness.blocking(pool)
            // A lock that is younger than what counts as blocking would let the next queries wait.
            if faults.isEmpty, blocking.isEmpty, await Self.waitsForLock(pool) {
                blocking = try await DatabaseFitness.blocking(pool)
            }
            faults += blocking.map { .blocked($0) }
            guard faults.isEmpty else {
                inspection.findings += faults.map(DoctorRules.unfit) + [DoctorRules.databaseUnread]
                return (inspection, false)
            }
            return (inspection, true)
        } catch {
            if let condition = error.condition {
                return (DatabaseInspection(DoctorRules.impaired(condition), DoctorRules.databaseUnread), false)
            }
            let finding = DoctorRules.unusable(await pool.census().outage, error, at: place)
            return (DatabaseInspection(finding, DoctorRules.databaseUnread), false)
        }
    }

    private func inspection(
        into pool: PostgresPool, _ place: DatabasePlace, _ settings: Settings, _ database: PostgresSettings,
        _ loop: ReactorLoop
    ) async -> DatabaseInspection {
        var (inspection, isUsable) = await basics(of: pool, place, database, loop)
        guard isUsable else { return inspection }
        do {
            let missing = try await Migrator(pool: pool).missing()
            inspection.findings.append(DoctorRules.schema(migrationsMissing: missing.count))
            guard missing.isEmpty else {
                inspection.findings.append(DoctorRules.databaseUnread)
                return inspection
            }
        } catch {
            let finding = DoctorRules.schema(error, await pool.census().outage, at: place)
            inspection.findings += [finding, DoctorRules.databaseUnread]
            return inspection
        }
        await secrets(pool, settings, &inspection)
        do {
            inspection.findings += try await Stores(pool: pool).credentials.uncoveredTopics().map(DoctorRules.uncovered)
        } catch {
            inspection.findings.append(.note("topics", "their devices can't be counted: \(error)", "try again"))
        }
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
            let counts = try await SubscriptionStore(pool: pool).counts(of: nil)
            inspection.findings.append(DoctorRules.wakeUp(counts, now: Clocks.wallNow()))
        } catch {
            inspection.findings.append(.bad("wake-up", "its counts can't be read: \(error)", "check the database"))
        }
        return inspection
    }
}
