import Basis
import Credentials
import FCM
import Logging
import Model
import ProviderInterface
import Signing
import Synchronization
import Testing

@Suite("The refresher of a service account's access token")
struct AccessTokenRefresherTests {
    /// Returns the answers in order and repeats the last one. Records the requests.
    private final class Endpoint: TokenEndpoint {
        private let answers: Mutex<[Result<TokenEndpointAnswer, TokenEndpointFault>]>
        let asked = Mutex<[(form: String, url: String)]>([])

        init(_ answers: [Result<TokenEndpointAnswer, TokenEndpointFault>]) { self.answers = Mutex(answers) }

        func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer {
            asked.withLock { $0.append((String(decoding: form, as: UTF8.self), url)) }
            let answer = answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
            return try answer.get()
        }

        var count: Int { asked.withLock { $0.count } }
    }

    private static func granted(_ token: String) -> Result<TokenEndpointAnswer, TokenEndpointFault> {
        let body = #"{"access_token":"\#(token)","expires_in":3599,"token_type":"Bearer"}"#
        return .success(TokenEndpointAnswer(status: 200, body: Array(body.utf8)))
    }

    private static let app = AppID(1)
    private static let endpoint = ProviderEndpoint(
        provider: .fcm, environment: .production, host: "fcm.googleapis.com", port: 443)
    private static let unauthenticated = AnswerQuote(status: 401, reason: "UNAUTHENTICATED")

    private static func service(
        _ endpoint: any TokenEndpoint, fetches: AppSlots = AppSlots(atOnceMax: AccessTokenRefresher.fetchesPerAppMax)
    ) throws -> AccessTokenRefresher {
        let key = try RS256Key.generate()
        let pem = String(decoding: try key.privatePEM(), as: UTF8.self).replacing("\n", with: "\\n")
        let file = """
            {"type": "service_account", "project_id": "tower-1", "private_key_id": "k1", "private_key": "\(pem)",
             "client_email": "push@tower-1.iam.gserviceaccount.com", "token_uri": "https://oauth2.googleapis.com/token"}
            """
        var log = Logger(label: "access-token-test")
        log.logLevel = .critical
        let credential = try FCMProvider().readCredential(
            SubmittedForm(.serviceAccount, [("service_account", Array(file.utf8))]), OpenedKeys())
        guard case .accessToken(let source) = credential.lane(topics: [], at: Self.endpoint).authorization else {
            preconditionFailure("a service account gets access tokens")
        }
        return AccessTokenRefresher(source, of: app, fetches: fetches, endpoint: endpoint, log: log)
    }

    /// Waits until the fetch that `freshen` or `refused` begins has succeeded.
    private func arrival(_ begin: (@escaping @Sendable () async -> Void) -> Void) async {
        let (arrivals, signal) = AsyncStream.makeStream(of: Void.self)
        begin { signal.yield() }
        for await _ in arrivals { return }
    }

    private func text(_ service: AccessTokenRefresher) -> String? {
        service.current.map { String(decoding: $0.value, as: UTF8.self) }
    }

    @Test("requests one token for all callers that want it at the same time")
    func singleFlight() async throws {
        let endpoint = Endpoint([Self.granted("ya29.first")])
        let service = try Self.service(endpoint)
        #expect(service.current == nil)
        await arrival { arrived in
            #expect(service.freshen(arrived: arrived) == .fetching)
            for _ in 0..<50 { #expect(service.freshen(arrived: {}) != .refused) }
        }
        #expect(text(service) == "Bearer ya29.first")
        #expect(service.freshen(arrived: {}) == .ready)
        #expect(endpoint.count == 1)
        let asked = endpoint.asked.withLock { $0[0] }
        #expect(asked.url == "https://oauth2.googleapis.com/token")
        #expect(asked.form.hasPrefix("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=ey"))
    }

    /// Answers no request until the test opens it.
    private actor SlowEndpoint: TokenEndpoint {
        private(set) var asked = 0
        private(set) var mostAtOnce = 0
        private var underWay = 0
        private var isOpen = false
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer {
            asked += 1
            underWay += 1
            mostAtOnce = max(mostAtOnce, underWay)
            defer { underWay -= 1 }
            if !isOpen { await withCheckedContinuation { waiting.append($0) } }
            throw .unreachable("no route")
        }

        func open() {
            isOpen = true
            for request in waiting { request.resume() }
            waiting = []
        }
    }

    @Test("has no more requests under way than its app may have, and other apps' requests do not wait")
    func slowEndpoint() async throws {
        let endpoint = SlowEndpoint()
        let fetches = AppSlots(atOnceMax: 2)
        for _ in 0..<4 { _ = try Self.service(endpoint, fetches: fetches).freshen(arrived: {}) }
        while await endpoint.asked < 2 { await Task.yield() }
        let own = await fetches.run(for: Self.app, waitingMax: 0) { true }
        let other = await fetches.run(for: AppID(2), waitingMax: 0) { true }
        #expect(own == nil && other == true)
        await endpoint.open()
        while await endpoint.asked < 4 { await Task.yield() }
        #expect(await endpoint.mostAtOnce == 2)
    }

    @Test("replaces a refused token, and ignores late refusals of the old one")
    func refused() async throws {
        let endpoint = Endpoint([Self.granted("ya29.first"), Self.granted("ya29.second")])
        let service = try Self.service(endpoint)
        await arrival { _ = service.freshen(arrived: $0) }
        let first = try #require(service.current)
        await arrival { service.refused(first.generation, quoting: Self.unauthenticated, arrived: $0) }
        let second = try #require(service.current)
        #expect(text(service) == "Bearer ya29.second")
        #expect(second.generation > first.generation)
        service.refused(first.generation, quoting: Self.unauthenticated, arrived: {})
        #expect(service.current?.generation == second.generation)
        #expect(endpoint.count == 2)
    }

    @Test("offers no token if the renewal returns the refused one again")
    func sameAgain() async throws {
        let endpoint = Endpoint([Self.granted("ya29.only")])
        let service = try Self.service(endpoint)
        await arrival { _ = service.freshen(arrived: $0) }
        let only = try #require(service.current)
        await arrival { service.refused(only.generation, quoting: Self.unauthenticated, arrived: $0) }
        #expect(service.current == nil)
        #expect(service.freshen(arrived: {}) == .refused && endpoint.count == 2)
        #expect(service.trouble == "UNAUTHENTICATED")
    }

    @Test("serves a token with a very short life, and renews it before its end")
    func slowAndShort() async throws {
        var cache = AccessTokenCache()
        let start = MonotonicInstant(nanoseconds: 0)
        #expect(cache.next(now: start) == .renew)
        let token = AccessToken(text: [65], askedAt: start, lifetime: .seconds(10))
        cache.adopt(token, entropy: 0)
        #expect(cache.serving == token)
        #expect(cache.next(now: start + .seconds(8)) == .useAndRenew(token))
    }

    @Test("sends no further request at once if Google refuses the account")
    func refusedForGood() async throws {
        let body = Array(#"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#.utf8)
        let endpoint = Endpoint([.success(TokenEndpointAnswer(status: 400, body: body))])
        let service = try Self.service(endpoint)
        _ = service.freshen(arrived: { Issue.record("no token may arrive") })
        while service.freshen(arrived: {}) == .fetching { await Task.yield() }
        #expect(service.freshen(arrived: {}) == .refused)
        #expect(service.current == nil && endpoint.count == 1)
        #expect(service.trouble == "invalid_grant: Invalid JWT Signature", "the reason is Google's word")
    }

    @Test("offers no token if the endpoint is unreachable")
    func unreachable() async throws {
        let endpoint = Endpoint([.failure(.unreachable("no route"))])
        let service = try Self.service(endpoint)
        while service.freshen(arrived: { Issue.record("no token may arrive") }) == .fetching { await Task.yield() }
        #expect(service.current == nil && endpoint.count >= 1)
        #expect(service.trouble?.contains("no route") == true)
    }
}
