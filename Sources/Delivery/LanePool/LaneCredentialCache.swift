import Basis
import Content
import Credentials
import Lanes
import Logging
import Model
import ProviderInterface
import Providers
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
        (self.endpoints, self.trust, self.proxy, self.connectionsMax) = (endpoints, trust, proxy, connectionsMax)
        self.requestDeadline = requestDeadline
    }
}

/// Gives the lanes the credentials that `CredentialService` holds.
///
/// Answers from memory. What it knows is read again when credentials change, and every few seconds in case a
/// notification was lost.
package actor LaneCredentialCache {
    private let store: CredentialStore
    private let service: CredentialService
    private let template: LaneTemplate
    private let process: ProcessID
    private let context: ServiceContext
    private var opened: [CredentialID: LaneCredential] = [:]
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

    package init(
        store: CredentialStore, service: CredentialService, template: LaneTemplate, process: ProcessID,
        _ context: ServiceContext
    ) {
        (self.store, self.service, self.template, self.process) = (store, service, template, process)
        self.context = context
        let quotas = QuotaService(store: store, process: process, database: context.database)
        paces = ProjectPaces { await quotas.heartbeat(of: $0) }
    }

    /// Sets the function to call when an access token that routes waited for arrives.
    package func report(routesChanged: @escaping @Sendable () async -> Void) { self.routesChanged = routesChanged }

    /// Forgets everything read, because credentials or blocks changed somewhere.
    package func forget() {
        memory.forget()
        blocksReadAt = nil
    }

    /// Returns the status of the route's credential. Called once per poll and route.
    func credential(for route: ReadyRoute) async -> CredentialStatus {
        do {
            guard let record = try await activeRecord(for: route) else { return .missing }
            if let block = try await block(of: record.id) {
                return .waits(record.id, .credentialRefused, reason: block.reason)
            }
            let app = await slug(of: route.app)
            guard let open = opened[record.id] else { return begin(opening: record, app: app) }
            switch open.tokenSource {
            case .certificate: break
            case .providerToken(let token):
                await token.freshen()
                guard token.current != nil else { return .waits(record.id, .tokenMissing, reason: token.trouble ?? "") }
            case .accessToken(let token, let arrived):
                // The fetch is not awaited: one app's slow token endpoint must not delay other apps' routes.
                switch token.freshen(arrived: arrived) {
                case .ready: break
                case .fetching: return .waits(record.id, .credentialPending, reason: "")
                case .refused: return .waits(record.id, .tokenMissing, reason: token.trouble ?? "")
                }
            }
            return .ready(open)
        } catch {
            context.database.failed("credentials not read", error)
            return .unread
        }
    }

    func slug(of app: AppID) async -> String {
        if let known = slugs[app] { return known }
        guard let slug = try? await store.slug(of: app) else { return "\(app.value)" }
        if slugs.count >= Self.slugsMax { slugs = [:] }
        slugs[app] = slug
        return slug
    }

    /// Announces a refused credential to the other processes, so that none tries it again before `pause` is over.
    func block(_ credential: CredentialID, reason: String, for pause: Duration) async {
        do {
            try await store.block(credential, reason: reason, for: pause)
        } catch {
            context.database.failed("a refused credential is not announced", error)
        }
        forget()
    }

    /// Reports all lanes of this process that can't reach their provider or whose breaker is open, for the messages'
    /// progress. Returns false if that failed.
    func report(outages: [LaneOutage]) async -> Bool {
        do {
            try await store.report(outages: outages, of: process)
            return true
        } catch {
            context.database.failed("waits of lanes not recorded", error)
            return false
        }
    }

    func inactive(among credentials: [CredentialID]) async -> [CredentialID] {
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

    private func block(of credential: CredentialID) async throws(StoreFault) -> LaneBlock? {
        let now = Clocks.monotonicNow()
        if blocksReadAt.map({ now - $0 >= .seconds(1) }) ?? true {
            blocked = try await store.blocks()
            blocksReadAt = now
        }
        return blocked.first { $0.credential == credential }
    }

    /// Opens the key off this actor, which answers for every route. A key that does not open in time is unusable until
    /// it does.
    private func begin(opening record: CredentialRecord, app: String) -> CredentialStatus {
        switch openings.next(for: record.id, now: Clocks.monotonicNow()) {
        case .open:
            Task { [self] in
                let credential: Result<any ProviderCredential, CredentialFault>
                do throws(CredentialFault) { credential = .success(try await service.credential(of: record)) } catch {
                    credential = .failure(error)
                }
                await end(opening: record, app: app, credential)
            }
            return .waits(record.id, .credentialPending, reason: "")
        case .wait: return .waits(record.id, .credentialPending, reason: "")
        case .unusable(let fault, let isNew):
            if isNew { logUnusable(record, app, fault) }
            return .waits(record.id, .credentialUnusable, reason: "\(fault)")
        }
    }

    private func end(
        opening record: CredentialRecord, app: String, _ credential: Result<any ProviderCredential, CredentialFault>
    ) async {
        var fault: CredentialFault?
        do throws(CredentialFault) { opened[record.id] = try prepare(record, app, try credential.get()) } catch {
            fault = error
            logUnusable(record, app, error)
        }
        openings.ended(record.id, fault, now: Clocks.monotonicNow())
        await routesChanged?()
    }

    private func logUnusable(_ record: CredentialRecord, _ app: String, _ fault: CredentialFault) {
        context.log.error(
            "A credential can't be used",
            metadata: ["app": "\(app)", "credential": "\(record.id.value)", "fault": "\(fault)"])
    }

    private func prepare(
        _ record: CredentialRecord, _ app: String, _ credential: any ProviderCredential
    ) throws(CredentialFault) -> LaneCredential {
        let found = template.endpoints.first { $0.provider == record.provider && $0.environment == record.environment }
        guard let endpoint = found else { throw Self.unusable("It is for an environment that its provider lacks.") }
        let needs = credential.lane(topics: record.topics, at: endpoint)
        var log = context.log
        log[metadataKey: "app"] = "\(app)"
        log[metadataKey: "credential"] = "\(record.id.value)"
        let (source, authorization) = try tokenSource(needs.authorization, of: record.app, log)
        var settings = try laneSettings(endpoint, needs.authorization)
        settings.authorization = authorization
        if !needs.firstRequestIsProof { settings.streamsAtStart = Self.streamsBeforeSettings }
        if let provider = PushProviders.offered(record.provider) { settings.answerRules = provider.answerRules }
        if let project = needs.project, let perMinute = endpoint.requestsPerMinute {
            settings.pace = paces.pace(of: project, perMinute: perMinute) { project in
                opened.values.contains { $0.project == project }
            }
        }
        return LaneCredential(
            id: record.id, app: app, settings: settings, reach: needs.reach, tokenSource: source,
            project: needs.project)
    }

    private func tokenSource(
        _ needed: LaneNeeds.Authorization, of app: AppID, _ log: Logger
    ) throws(CredentialFault) -> (LaneCredential.TokenSource, (any AuthorizationSource)?) {
        switch needed {
        case .certificate: return (.certificate, nil)
        case .providerToken(let source):
            do throws(KeyFault) {
                let token = try service.providerToken(source, log: log)
                return (.providerToken(token), token)
            } catch { throw Self.unusable("Its key can't be used.") }
        case .accessToken(let source):
            let token = service.accessToken(source, of: app, log: log)
            return (.accessToken(token, arrived: { [weak self] in await self?.routesChanged?() }), token)
        }
    }

    private static func unusable(_ detail: String) -> CredentialFault {
        .unusable(ProviderFault("invalid_value", detail))
    }

    /// If the first request proves nothing to the peer, only its SETTINGS bound us from the start. RFC 9113 asks for
    /// 100 at least.
    private static let streamsBeforeSettings = 100

    private func laneSettings(
        _ endpoint: ProviderEndpoint, _ authorization: LaneNeeds.Authorization
    ) throws(CredentialFault) -> LaneSettings {
        var identity: TLSIdentity?
        if case .certificate(let presented) = authorization { identity = (presented as? TLSClientIdentity)?.identity }
        let context: TLSContext
        do { context = try TLSContext.client(trust: template.trust, identity: identity) } catch {
            throw Self.unusable("No TLS connection can be made with it.")
        }
        return LaneSettings(
            host: endpoint.host, port: endpoint.port, tls: context, proxy: template.proxy,
            connectionsMax: template.connectionsMax, requestDeadline: template.requestDeadline)
    }
}
