import Basis
import Model
import Postgres
import RegistryRules

/// What a registration came to.
package struct RegisteredDevice: Equatable, Sendable {
    package let change: RegistrationChange
    /// The installation had no token of this kind before; its token may have moved here all the same.
    package let isNew: Bool
    /// As it stands now. Where stale and unknown itself: whoever holds the token.
    package let record: DeviceRecord
    package init(change: RegistrationChange, isNew: Bool, record: DeviceRecord) {
        self.change = change
        self.isNew = isNew
        self.record = record
    }
}

extension RegistryStore {
    /// A row that somebody holds for longer is that row's trouble, not its neighbours'.
    static let lockTimeout: Duration = .milliseconds(500)
    /// Parts in which a refused batch is tried again, before its rows are tried singly.
    static let redoChunk = 32
    /// A row that two processes create at once is found by the second one at its next try.
    static let singleTriesMax = 4

    /// Registers a batch in one transaction; answers in the order given.
    ///
    /// Where the transaction fails, the batch is redone in parts and then singly, so that one bad row hurts no
    /// neighbour. Registering is idempotent: redoing it after a lost answer changes nothing.
    ///
    /// - Precondition: no two with the same installation and kind, nor with the same provider and token
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
            case .unavailable, .contended, .invalid, .unknownApp, .damaged, .cancelled: return .failure(fault)
            }
        }
        // Somebody keeps taking what this row wants: no fault of the caller's, and soon over.
        if case .conflict = fault { fault = .contended }
        return .failure(fault)
    }

    private static func isWorthRedoing(_ fault: StoreFault) -> Bool {
        switch fault {
        case .contended, .conflict, .invalid, .commitUnknown, .damaged: true
        case .unavailable, .unknownApp, .cancelled: false
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
            app: app, provider: registration.provider, environment: registration.environment,
            topic: registration.topic)
        if let known = routes[name] { return known }
        var parameters = Parameters()
        parameters.int64(app.value)
        parameters.int16(name.provider.rawValue)
        parameters.int16(name.environment.rawValue)
        parameters.text(name.topic)
        let answers = try await pool.run([Query(AppSQL.addRoute, parameters), Query(AppSQL.findRoute, parameters)])
        let route = RouteID(try answers[1].int64(0, 0))
        routes.cache(route, as: name)
        return route
    }
}
