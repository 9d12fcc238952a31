import Basis
import Model
import Postgres
import RegistryRules

package struct RegisteredDevice: Equatable, Sendable {
    package let change: RegistrationChange
    /// The installation had no token of this kind before. The token itself may have moved here all the same.
    package let isNew: Bool
    /// The record now, or the token's holder if the registration was stale and unknown.
    package let record: DeviceRecord
}

extension RegistryStore {
    /// The longest wait for a locked row. A longer lock must not delay the row's neighbours.
    static let lockTimeout: Duration = .milliseconds(500)
    /// The size of the parts in which a refused batch is tried again, before its rows are tried singly.
    static let redoChunk = 32
    /// The tries of a single row. If two processes create a row at once, the second finds it at its next try.
    package static let singleTriesMax = 4

    /// Registers a batch in one transaction; returns the results in the order given.
    ///
    /// If the transaction fails, the batch is redone in parts and then singly, so that one bad row hurts no neighbour.
    /// Registering is idempotent: redoing it after a lost answer changes nothing.
    ///
    /// - Precondition: no two registrations have the same installation and kind, or the same provider and token
    ///   (`GroupCommitter` sees to that).
    package func register(
        _ batch: [DeviceRegistration], app: AppID, now: WallInstant? = nil
    ) async -> [Result<RegisteredDevice, StoreFault>] {
        if batch.isEmpty { return [] }
        assert(Set(batch.map { InstallationKey($0.installation, $0.kind) }).count == batch.count)
        assert(Set(batch.map { TokenKey($0.provider, $0.token) }).count == batch.count)
        var answers: [Result<RegisteredDevice, StoreFault>] = []
        answers.reserveCapacity(batch.count)
        do throws(StoreFault) {
            return try await registerAtOnce(batch, app: app, now: now).map { .success($0) }
        } catch {
            guard Self.isWorthRedoing(error) else { return batch.map { _ in .failure(error) } }
        }
        let part = batch.count > Self.redoChunk ? Self.redoChunk : 1
        for start in stride(from: 0, to: batch.count, by: part) {
            let some = Array(batch[start..<min(start + part, batch.count)])
            if part == 1 {
                answers.append(await registerSingly(some[0], app: app, now: now))
            } else {
                answers.append(contentsOf: await register(some, app: app, now: now))
            }
        }
        return answers
    }

    private func registerSingly(
        _ registration: DeviceRegistration, app: AppID, now: WallInstant?
    ) async -> Result<RegisteredDevice, StoreFault> {
        var fault = StoreFault.contended
        for _ in 0..<Self.singleTriesMax {
            do throws(StoreFault) {
                return .success(try await registerAtOnce([registration], app: app, now: now)[0])
            } catch { fault = error }
            switch fault {
            case .conflict, .commitUnknown: continue
            case .unavailable, .impaired, .contended, .invalid, .unknownApp, .damaged, .unsuited, .cancelled:
                return .failure(fault)
            }
        }
        // Another process keeps taking what this row needs. It is no fault of the caller's, and soon over.
        if case .conflict = fault { fault = .contended }
        return .failure(fault)
    }

    private static func isWorthRedoing(_ fault: StoreFault) -> Bool {
        switch fault {
        case .contended, .conflict, .invalid, .commitUnknown, .damaged: true
        case .unavailable, .impaired, .unknownApp, .unsuited, .cancelled: false
        }
    }

    private func registerAtOnce(
        _ batch: [DeviceRegistration], app: AppID, now: WallInstant?
    ) async throws(StoreFault) -> [RegisteredDevice] {
        do throws(PostgresError) {
            var incoming: [IncomingRegistration] = []
            incoming.reserveCapacity(batch.count)
            for each in batch {
                incoming.append(IncomingRegistration(registration: each, route: try await route(of: each, app: app)))
            }
            let options = TransactionOptions(lockTimeout: Self.lockTimeout)
            let named = incoming
            return try await pool.transaction(options) { transaction throws(PostgresError) in
                let found = try await RegistrationLookup(named, app: app).run(in: transaction)
                let batch = RegistrationBatch(found.incoming, stored: found.stored)
                let writing = RegistrationWriting(batch, on: found, app: app)
                return try writing.devices(in: try await transaction.runAndCommit(writing.queries(now: now)))
            }
        } catch {
            let fault = StoreFault(error)
            if fault == .unknownApp { routes.forget(app: app) }
            throw fault
        }
    }

    /// Finds or makes the route that a registration names.
    private func route(of registration: DeviceRegistration, app: AppID) async throws(PostgresError) -> RouteID {
        let name = RouteCache.Name(
            app: app, provider: registration.provider, environment: registration.environment, topic: registration.topic)
        if let known = routes[name] { return known }
        let queries = [AppSQL.addRoute, AppSQL.findRoute].map {
            Query($0) {
                $0.int64("app", app.value)
                $0.int16("provider", name.provider.rawValue)
                $0.int16("environment", name.environment.rawValue)
                $0.text("topic", name.topic)
            }
        }
        let route = try await pool.run(queries)[1].one { row throws(PostgresError) in RouteID(try row.int64()) }
        routes.cache(route, as: name)
        return route
    }
}
