import APNs
import CredentialKeeping
import Delivery
import DeliveryRules
import Logging
import PushModel
import Reactor
import Store
import Synchronization
import TLS
import Transport

/// What every lane is opened with, whatever its credential.
package struct LaneTemplate: Sendable {
    package var production: APNsEndpoint
    package var sandbox: APNsEndpoint
    package var trust: TLSTrust
    package var proxy: ProxySettings?
    package var connectionsMax: Int
    package var requestDeadline: Duration

    package init(
        production: APNsEndpoint, sandbox: APNsEndpoint, trust: TLSTrust, proxy: ProxySettings?, connectionsMax: Int,
        requestDeadline: Duration
    ) {
        self.production = production
        self.sandbox = sandbox
        self.trust = trust
        self.proxy = proxy
        self.connectionsMax = connectionsMax
        self.requestDeadline = requestDeadline
    }
}

/// Hands delivery the credentials that the keeper holds: the one place where the two meet.
///
/// Answers from memory; what it knows is read anew when credentials change, and every few seconds in case a
/// notification was lost.
package actor CredentialLanes: LaneCredentials {
    private static let rememberedFor: Duration = .seconds(5)
    /// Routes remembered at once; above it, the stale ones are forgotten.
    private static let rememberedMax = 16_384

    private let store: CredentialStore
    private let keeper: CredentialKeeper
    private let template: LaneTemplate
    private let log: Logger
    private var opened: [CredentialID: OpenedCredential] = [:]
    private var remembered: [RouteID: Remembered] = [:]
    private var blocked: [LaneBlock] = []
    private var blocksReadAt: MonotonicInstant?

    private struct Remembered {
        let record: CredentialRecord?
        let readAt: MonotonicInstant
    }

    private struct OpenedCredential {
        let settings: LaneSettings
        let onlyTopic: String?
        let providerToken: ProviderTokenKeeper?
    }

    package init(store: CredentialStore, keeper: CredentialKeeper, template: LaneTemplate, log: Logger) {
        self.store = store
        self.keeper = keeper
        self.template = template
        self.log = log
    }

    /// Credentials or blocks changed somewhere: everything is read anew.
    package func forget() {
        remembered = [:]
        blocksReadAt = nil
    }

    package func credential(for route: ReadyRoute) async -> LaneCredential? {
        guard route.provider == .apns else { return nil }
        do {
            guard let record = try await activeRecord(for: route), try await !isBlocked(record.id) else { return nil }
            let open = try opened[record.id] ?? open(record)
            opened[record.id] = open
            if let token = open.providerToken {
                await token.freshen()
                guard token.current != nil else { return nil }
            }
            return LaneCredential(id: record.id, settings: open.settings, onlyTopic: open.onlyTopic)
        } catch let fault as CredentialFault {
            log.error("A credential can't be used", metadata: ["app": "\(route.app.value)", "fault": "\(fault)"])
            return nil
        } catch {
            log.warning("Reading credentials waits for the database", metadata: ["fault": "\(error)"])
            return nil
        }
    }

    package func block(_ credential: CredentialID, reason: String, for pause: Duration) async {
        do {
            try await store.block(credential, reason: reason, for: pause)
        } catch {
            log.warning("A refused credential could not be announced", metadata: ["fault": "\(error)"])
        }
        forget()
    }

    package func providerTokenExpired(_ credential: CredentialID, generation: UInt64) async {
        await opened[credential]?.providerToken?.refusedAsExpired(generation)
    }

    package func needsNewConnections(_ credential: CredentialID) async {
        opened[credential]?.providerToken?.needsNewConnections()
    }

    package func isActive(_ credential: CredentialID) async -> Bool {
        let isInUse = remembered.values.contains { $0.record?.id == credential }
        guard !isInUse else { return true }
        // Not seen lately: ask, before a warm lane is closed for nothing.
        do {
            let isActive = try await store.isActive(credential)
            if !isActive { opened[credential] = nil }
            return isActive
        } catch {
            return true
        }
    }

    private func activeRecord(for route: ReadyRoute) async throws(StoreFault) -> CredentialRecord? {
        let now = Clocks.monotonicNow()
        if let known = remembered[route.route], now - known.readAt < Self.rememberedFor { return known.record }
        let record = try await store.active(
            app: route.app, provider: route.provider, environment: route.environment, topic: route.topic)
        if remembered.count >= Self.rememberedMax {
            remembered = remembered.filter { now - $0.value.readAt < Self.rememberedFor }
        }
        remembered[route.route] = Remembered(record: record, readAt: now)
        return record
    }

    private func isBlocked(_ credential: CredentialID) async throws(StoreFault) -> Bool {
        let now = Clocks.monotonicNow()
        if blocksReadAt.map({ now - $0 >= .seconds(1) }) ?? true {
            blocked = try await store.blocks()
            blocksReadAt = now
        }
        return blocked.contains { $0.credential == credential }
    }

    private func open(_ record: CredentialRecord) throws(CredentialFault) -> OpenedCredential {
        let endpoint = record.environment == .production ? template.production : template.sandbox
        let onlyTopic = record.topics.count == 1 ? record.topics[0] : nil
        switch try keeper.material(of: record) {
        case .token(let keyID, let teamID, let key):
            guard let providerToken = keeper.providerToken(keyID: keyID, teamID: teamID, key: key, log: log) else {
                throw .keyIDMalformed
            }
            var settings = try laneSettings(endpoint, identity: nil)
            settings.authorization = providerToken
            return OpenedCredential(settings: settings, onlyTopic: onlyTopic, providerToken: providerToken)
        case .certificate(let identity):
            var settings = try laneSettings(endpoint, identity: identity)
            // A certificate speaks for itself from the first stream; the peer's SETTINGS bound us.
            settings.streamsAtStart = 100
            return OpenedCredential(
                settings: settings, onlyTopic: onlyTopic ?? identity.certificate.userID, providerToken: nil)
        }
    }

    private func laneSettings(
        _ endpoint: APNsEndpoint, identity: TLSIdentity?
    ) throws(CredentialFault) -> LaneSettings {
        let context: TLSContext
        do { context = try TLSContext.client(trust: template.trust, identity: identity) } catch {
            throw .certificateUnreadable
        }
        var settings = LaneSettings(host: endpoint.host, port: endpoint.port, tls: context, proxy: template.proxy)
        settings.connectionsMax = template.connectionsMax
        settings.requestDeadline = template.requestDeadline
        return settings
    }
}
