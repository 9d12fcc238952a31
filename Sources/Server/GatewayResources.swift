import Basis
import Foundation
import Logging
import Postgres
import PrivatePostgres
import Reactor
import Store

/// The resources of the service: a database with its schema, and the two keys.
struct GatewayResources: Sendable {
    let database: PostgresSettings
    /// The pool of delivery and upkeep.
    let pool: PostgresPool
    /// The pool of HTTP requests. Whatever they cost, and however many wait, delivery has its own sessions (P7).
    let apiPool: PostgresPool
    /// The loop of everything that speaks to the database.
    let loop: ReactorLoop
    let masterKey: Secret<[UInt8]>
    let adminKey: Secret<String>
    /// The file of the admin key, if the data folder holds it: the start prints the path for newcomers.
    let adminKeyFile: String?
    let privateServer: PrivateServer?
    let watch: ImpairmentWatch
    let locks: LockWatch
    let migrationsApplied: [String]

    /// Starts or adopts the private PostgreSQL if no other is named, and brings the schema up to this program's.
    static func open(_ settings: Settings, log: Logger) async throws -> GatewayResources {
        for file in KeyFiles.exposed(settings) {
            log.notice("A file with a secret can be read by every user of this machine", metadata: ["file": "\(file)"])
        }
        let loop = try ReactorLoop(name: "database")
        guard let url = settings.databaseURL else { return try await openPrivate(settings, loop, log) }
        guard let keyFile = settings.masterKeyFile, let adminKey = settings.adminKey else {
            preconditionFailure("the settings reader requires both")
        }
        let database: PostgresSettings
        do { database = try PostgresSettings(parsing: url) } catch {
            throw StartFault("CARILLON_DATABASE_URL can't be used: \(DatabaseErrorText.of(error))")
        }
        let masterKey = try KeyFiles.masterKey(at: keyFile)
        let watch = ImpairmentWatch(log: log)
        let pool = PostgresPool(database, loop: loop, impaired: watch.failed)
        try await DatabaseFitness.require(of: pool, database, loop)
        let applied = try await migrate(pool, .named(database), log)
        return GatewayResources(
            database: database, pool: pool, apiPool: PostgresPool(database, loop: loop, impaired: watch.failed),
            loop: loop, masterKey: Secret(masterKey), adminKey: adminKey, adminKeyFile: nil, privateServer: nil,
            watch: watch, locks: LockWatch(log: log), migrationsApplied: applied)
    }

    private static func openPrivate(_ settings: Settings, _ loop: ReactorLoop, _ log: Logger) async throws
        -> GatewayResources
    {
        let server = PrivateServer(dataFolder: settings.dataFolder)
        let database: PostgresSettings
        do { database = try await server.start() } catch { throw StartFault(error.description) }
        do {
            let folder = settings.dataFolder
            let watch = ImpairmentWatch(log: log)
            let pool = PostgresPool(database, loop: loop, impaired: watch.failed)
            let applied = try await migrate(pool, .folder(folder), log)
            let masterKeyFile = settings.masterKeyFile ?? folder + "/master-key"
            if settings.masterKeyFile == nil { try await makeMasterKey(masterKeyFile, pool) }
            let masterKey = try KeyFiles.masterKey(at: masterKeyFile)
            let adminKeyFile = settings.adminKey == nil ? folder + "/admin-key" : nil
            let adminKey = try settings.adminKey ?? Secret(KeyFiles.secretLine(at: folder + "/admin-key"))
            return GatewayResources(
                database: database, pool: pool, apiPool: PostgresPool(database, loop: loop, impaired: watch.failed),
                loop: loop, masterKey: Secret(masterKey), adminKey: adminKey, adminKeyFile: adminKeyFile,
                privateServer: server, watch: watch, locks: LockWatch(log: log), migrationsApplied: applied)
        } catch {
            await server.stop()
            throw error
        }
    }

    /// Makes a master key if there is none, unless the database was sealed with one. Then that key is missing, and
    /// people and backups would take a new one for it.
    private static func makeMasterKey(_ path: String, _ pool: PostgresPool) async throws {
        if !FileManager.default.fileExists(atPath: path) {
            let proof: [UInt8]?
            do { proof = try await Stores(pool: pool).credentials.masterKeyProof() } catch {
                throw StartFault("can't check whether the database holds sealed secrets: \(error)")
            }
            guard proof == nil else {
                throw StartFault("\(path) is missing, and this database's secrets are sealed with it: restore it")
            }
        }
        _ = try KeyFiles.secretLine(at: path)
    }

    private static func migrate(_ pool: PostgresPool, _ place: DatabasePlace, _ log: Logger) async throws -> [String] {
        let applied: [String]
        let begunAt = Clocks.monotonicNow()
        do {
            applied = try await Migrator(pool: pool).migrate { wait in
                log.notice(
                    "Migration is waiting for table locks",
                    metadata: ["name": "\(wait.name)", "tries": "\(wait.tries)", "held_by": "\(wait.whoHolds)"])
            }
        } catch { throw StartFault(DatabaseErrorText.of(error, await pool.census().outage, at: place)) }
        await DatabaseDurability.report(pool, log)
        if let first = applied.first, let last = applied.last {
            log.info(
                "Migrated the database",
                metadata: [
                    "from": "\(SchemaVersion.before(first))", "to": "\(SchemaVersion.of(last))",
                    "took": "\((Clocks.monotonicNow() - begunAt).logText)",
                ])
        }
        return applied
    }

    /// Starts the private PostgreSQL again if it dies while the program runs. Returns when cancelled.
    func keepDatabaseRunning(_ log: Logger) async {
        if let privateServer {
            await privateServer.keepRunning { news in
                switch news {
                case .ended: log.warning("Private PostgreSQL stopped unexpectedly; restarting it")
                case .didNotStart(let fault):
                    log.error("Private PostgreSQL failed to start; retrying", metadata: ["fault": "\(fault)"])
                case .runsAgain: log.notice("Private PostgreSQL is running again")
                }
            }
        } else {
            // The operator keeps this database running.
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) }
        }
    }

    /// Closes everything, once nothing uses the database any more.
    func close() async {
        await apiPool.close()
        await pool.close()
        await privateServer?.stop()
        loop.stop()
    }
}
