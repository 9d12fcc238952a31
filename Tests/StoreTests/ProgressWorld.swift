import Basis
import Model
import QueueRules
import Store
import Testing

extension StoreWorld {
    @discardableResult
    func credential(_ environment: PushEnvironment = .production) async throws -> CredentialID {
        let id = try await stores.credentials.nextIDs(1)[0]
        let key = NewCredential(
            id: id, app: app, provider: .apns, environment: environment, kind: .token, topics: [],
            facts: Array("{}".utf8), sealed: [1])
        _ = try await stores.credentials.insert([key], app: app, activate: true, once: nil) { _ in [] }
        return id
    }

    func settle(_ settlement: Settlement, at now: WallInstant = Self.dawn) async throws {
        #expect(try await stores.parcels.settle([settlement], now: now)[0].get() == .settled)
    }

    /// Checks that the parts add up to the account, and returns the progress.
    func checkedProgress(at now: WallInstant = Self.dawn) async throws -> MessageProgress {
        let progress = try await progress(at: now)
        #expect(try await account() == progress.account)
        for (part, account) in zip(progress.providers, progress.account.providers) {
            #expect(part.provider == account.provider)
            #expect(part.sending + part.ready + part.waiting == account.pending)
        }
        let waiting = progress.waits.reduce(0) { $0 + $1.pushes }
        #expect(waiting == progress.providers.reduce(0) { $0 + $1.waiting })
        return progress
    }
}
