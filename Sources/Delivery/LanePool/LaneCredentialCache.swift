import APNs
import Basis
import Credentials
import FCM
import Lanes
import Logging
import Model
import ProviderInterface
import QueueRules
import Reactor
import Store
import Synchronization
import TLS

/// The settings that all lanes share, whatever their credential.
package struct LaneTemplate: Sendable {
    package var endpoints: [ProviderEndpoint]
    package var trust: TLSTrust
    package var proxy: ProxySettings?
    package var connectionsMax: Int
    package var requestDeadline: Duration

    package init(
        endpoints: [ProviderEndpoint], trust: TLSTrust, proxy: ProxySettings?, connectionsMax: Int,
        requestDeadline: Duration
    ) {
        self.endpoints = endpoints
        self.trust = trust
        self.proxy = proxy
        self.connectionsMax = connectionsMax
        self.requestDeadline = requestDeadline
    }
}

/// The address of a provider in one of its environments.
package struct ProviderEndpoint: Sendable {
    package let provider: Provider
    package let environment: PushEnvironment
    package let host: String
    package let port: UInt16
    /// The quota of one project, shared by all processes; nil: the provider has none.
    package let requestsPerMinute: Int?

    package init(
        provider: Provider, environment: PushEnvironment, host: String, port: UInt16, requestsPerMinute: Int? = nil
    ) {
        self.provider = provider
        self.environment = environment
        self.host = host
        self.port = port
        self.requestsPerMinute = requestsPerMinute
    }
}

/// Gives the lanes the credentials that `CredentialService` holds.
///
/// Answers from memory. What it knows is read again when credentials change, and every few seconds in case a
/// notification was lost.
package actor LaneCredentialCache: LaneCredentials {
    private let store: CredentialStore
    private let service: CredentialService
    private let template: LaneTemplate
    private let process: ProcessID
    private let log: Logger
    private var opened: [CredentialID: OpenedCredential] = [:]
    private var openings = CredentialOpenings()
    private var paces: ProjectPaces
    private var memory = RouteCredentialCache<CredentialRecord>()
    /// An app's slug never changes.
    private var slugs: [AppID: String] = [:]
    private static let slugsMax = 16_384
    private var blocked: [LaneBlock] = []
    private var blocksReadAt: MonotonicInstant?
    /// Called when routes may resolve to another lane than a moment ago.
    private var routesChanged: (@Sendable () async -> Void)?

    private struct OpenedCredential {
        let settings: LaneSettings
        let reach: CredentialReach
        let tokenSource: TokenSource
        /// The project whose quota its pushes count in; nil: there is none.
        var quota: String?
    }

    /// The proof of identity that a credential's lane presents.
    private enum TokenSource {
        case certificate
        case providerToken(ProviderTokenRefresher)
        case accessToken(AccessTokenRefresher)
    }

    package init(
        store: CredentialStore, service: CredentialService, template: LaneTemplate, process: ProcessID, log: Logger
    ) {
        self.store = store
        self.service = service
        self.template = template
        self.process = process
        let quotas = QuotaService(store: store, process: process, log: log)
        paces = ProjectPaces { await quotas.answer($1, of: $0) }
        self.log = log
    }

    /// Sets the function to call when an access token that routes waited for arrives.
    package func report(routesChanged: @escaping @Sendable () async -> Void) { self.routesChanged = routesChanged }

    private var tokenArrived: @Sendable () async -> Void {
        { [weak self] in await self?.routesChanged?() }
    }

    /// Forgets everything read, because credentials or blocks changed somewhere.
    package func forget() {
        memory.forget()
        blocksReadAt = nil
    }

    package func credential(for route: ReadyRoute) async -> CredentialStatus {
        do {
            guard let record = try await activeRecord(for: route), try await !isBlocked(record.id) else {
                return .missing
            }
            let app = await slug(of: route.app)
            guard let open = opened[record.id] else { return begin(opening: record, app: app) }
            switch open.tokenSource {
            case .certificate: break
            case .providerToken(let token):
                await token.freshen()
                guard token.current != nil else { return .missing }
            case .accessToken(let token):
                // The fetch is not awaited: one app's slow token endpoint must not delay other apps' routes.
                switch token.freshen(arrived: tokenArrived) {
                case .ready: break
                case .fetching: return .pending
                case .refused: return .missing
                }
            }
            return .ready(LaneCredential(id: record.id, app: app, settings: open.settings, reach: open.reach))
        } catch {
            log.warning("Database failure: credentials not read", metadata: ["fault": "\(error)"])
            return .missing
        }
    }

    package func slug(of app: AppID) async -> String {
        if let known = slugs[app] { return known }
        guard let slug = try? await store.slug(of: app) else { return "\(app.value)" }
        if slugs.count >= Self.slugsMax { slugs = [:] }
        slugs[app] = slug
        return slug
    }

    package func block(_ credential: CredentialID, reason: String, for pause: Duration) async {
        do {
            try await store.block(credential, reason: reason, for: pause)
        } catch {
            log.warning("Rejected credential could not be recorded", metadata: ["fault": "\(error)"])
        }
        forget()
    }

    package func providerTokenExpired(_ credential: CredentialID, generation: UInt64) async {
        switch opened[credential]?.tokenSource {
        case .providerToken(let token): await token.refusedAsExpired(generation)
        case .accessToken(let token): token.refused(generation, arrived: tokenArrived)
        case .certificate, nil: break
        }
    }

    package func report(outages: [LaneOutage]) async -> Bool {
        do {
            try await store.report(outages: outages, of: process)
            return true
        } catch {
            log.info("Lane outages could not be recorded", metadata: ["fault": "\(error)"])
            return false
        }
    }

    package func needsNewConnections(_ credential: CredentialID) async {
        if case .providerToken(let token) = opened[credential]?.tokenSource { token.needsNewConnections() }
    }

    package func inactive(among credentials: [CredentialID]) async -> [CredentialID] {
        do {
            let inactive = try await store.inactive(among: credentials)
            for credential in inactive { opened[credential] = nil }
            return inactive
        } catch {
            // Upkeep asks again.
            return []
        }
    }

    private func activeRecord(for route: ReadyRoute) async throws(StoreFault) -> CredentialRecord? {
        let now = Clocks.monotonicNow()
        if let known = memory.record(of: route.serviceRoute, now: now) { return known }
        let ticket = memory.ticket(now: now)
        let record = try await store.active(
            app: route.app, provider: route.provider, environment: route.environment, topic: route.topic,
            service: route.service)
        memory.store(record, of: route.serviceRoute, ticket)
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

    /// Opens the key off this actor, which answers for every route. A key that does not open in time is unusable until
    /// it does.
    private func begin(opening record: CredentialRecord, app: String) -> CredentialStatus {
        switch openings.next(for: record.id, now: Clocks.monotonicNow()) {
        case .open:
            Task { [self] in
                let material: Result<CredentialMaterial, CredentialFault>
                do throws(CredentialFault) { material = .success(try await service.material(of: record)) } catch {
                    material = .failure(error)
                }
                await end(opening: record, app: app, material)
            }
            return .pending
        case .wait: return .pending
        case .unusable(let fault, let isNew):
            if isNew { logUnusable(record, app, fault) }
            return .missing
        }
    }

    private func end(
        opening record: CredentialRecord, app: String, _ material: Result<CredentialMaterial, CredentialFault>
    ) async {
        var fault: CredentialFault?
        do throws(CredentialFault) { opened[record.id] = try prepare(record, try material.get()) } catch {
            fault = error
            logUnusable(record, app, error)
        }
        openings.ended(record.id, fault, now: Clocks.monotonicNow())
        await routesChanged?()
    }

    private func logUnusable(_ record: CredentialRecord, _ app: String, _ fault: CredentialFault) {
        log.error(
            "A credential can't be used",
            metadata: ["app": "\(app)", "credential": "\(record.id.value)", "fault": "\(fault)"])
    }

    private func prepare(
        _ record: CredentialRecord, _ material: CredentialMaterial
    ) throws(CredentialFault) -> OpenedCredential {
        let endpoint = template.endpoints.first {
            $0.provider == record.provider && $0.environment == record.environment
        }
        guard let endpoint else { throw .keyUnreadable }
        let bundleIDs = APNsTopicList.bundleIDs(usable: record.topics)
        let onlyTopic = bundleIDs.count == 1 ? bundleIDs[0] : nil
        switch material {
        case .token(let keyID, let teamID, let key):
            guard let providerToken = service.providerToken(keyID: keyID, teamID: teamID, key: key, log: log) else {
                throw .keyIDMalformed
            }
            var settings = try laneSettings(endpoint.host, endpoint.port, identity: nil)
            settings.authorization = providerToken
            return OpenedCredential(
                settings: settings, reach: .topics(.apns, only: onlyTopic), tokenSource: .providerToken(providerToken))
        case .certificate(let identity):
            var settings = try laneSettings(endpoint.host, endpoint.port, identity: identity)
            // A certificate needs no proof on the first stream; the peer's SETTINGS bound us.
            settings.streamsAtStart = Self.streamsBeforeSettings
            let ownTopic = identity.certificate.userID.map { APNsPushTypes.bundleID(ofTopic: $0) }
            return OpenedCredential(
                settings: settings, reach: .topics(.apns, only: onlyTopic ?? ownTopic), tokenSource: .certificate)
        case .serviceAccount(let account, let key):
            let token = service.accessToken(account, key: key, log: log)
            var settings = try laneSettings(endpoint.host, endpoint.port, identity: nil)
            settings.authorization = token
            settings.streamsAtStart = Self.streamsBeforeSettings
            settings.answerBodyBytesMax = FCMResponse.bodyBytesMax
            settings.pace = endpoint.requestsPerMinute.map { perMinute in
                paces.pace(of: account.project.name, perMinute: perMinute) { project in
                    opened.values.contains { $0.quota == project }
                }
            }
            return OpenedCredential(
                settings: settings, reach: .address(PushTarget(.fcm, FCMRequest.path(of: account.project))),
                tokenSource: .accessToken(token), quota: account.project.name)
        }
    }

    /// If the first request proves nothing to the peer, only its SETTINGS bound us from the start. RFC 9113 asks for
    /// 100 at least.
    private static let streamsBeforeSettings = 100

    private func laneSettings(
        _ host: String, _ port: UInt16, identity: TLSIdentity?
    ) throws(CredentialFault) -> LaneSettings {
        let context: TLSContext
        do { context = try TLSContext.client(trust: template.trust, identity: identity) } catch {
            throw .certificateUnreadable
        }
        return LaneSettings(
            host: host, port: port, tls: context, proxy: template.proxy, connectionsMax: template.connectionsMax,
            requestDeadline: template.requestDeadline)
    }
}
