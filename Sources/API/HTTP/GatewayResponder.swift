import HTTPTypes
import Hummingbird
import Listener
import Logging
import NIOCore
import Postgres
import Requests

/// Leads a request to its answer: endpoint, key, body, handler. Every refusal is a problem+json.
package struct GatewayResponder: HTTPResponder {
    private let services: GatewayServices
    let authenticator: APIKeyAuthenticator
    private let strangers: StrangerAdmission
    private let budget: ByteBudget
    private let answers: ByteBudget
    private let strangersAnswers: ByteBudget
    private let lateBodies: BodyDeadlines
    private let resources: Resources
    package let places: ConnectionPlaces

    /// - Parameter known: nil makes an authenticator that knows no key yet.
    package init(_ services: GatewayServices, authenticator known: APIKeyAuthenticator? = nil) {
        self.services = services
        let limits = services.limits
        let authenticator =
            known
            ?? APIKeyAuthenticator(
                operatorSHA256: services.adminKeySHA256, store: services.stores.keys, clock: services.context.clock)
        (self.authenticator, strangers) = (authenticator, StrangerAdmission(limits))
        budget = ByteBudget(bytesMax: limits.bodiesInFlightBytesMax, shareFloor: limits.bodyBytesMax)
        answers = ByteBudget(bytesMax: limits.answersInFlightBytesMax, shareFloor: limits.answerBytesUsual)
        strangersAnswers = ByteBudget(
            bytesMax: limits.strangersAnswersInFlightBytesMax, shareFloor: limits.answerBytesUsual)
        places = ConnectionPlaces(limits, log: services.context.log)
        lateBodies = BodyDeadlines(after: limits.bodyTimeout)
        resources = Resources(services, authenticator, budget)
    }

    /// The path for small requests. It hands all others to this responder.
    package var shortcut: RequestShortcut { RequestShortcut(services, resources, authenticator, budget, places) }

    package func respond(to request: Request, context: GatewayContext) async throws -> Response {
        let pending = PendingRequest(request: request, channel: context.channel)
        var response: Response
        do {
            response = try await respond(to: pending)
        } catch let problem as Problem {
            services.note(problem, on: pending.endpoint)
            response = Response(pending.answer(problem))
        }
        response = await paced(response, pending)
        let whole = request.method == .head ? response.createHeadResponse() : response
        return isWanted(pending) ? whole : whole.hangingUp(on: context.channel, after: services.limits.lingerTime)
    }

    /// The answer to a stranger that is refused comes after a while if there are many.
    private func paced(_ response: Response, _ pending: PendingRequest) async -> Response {
        guard response.status.kind == .clientError, await isOfStranger(pending) else { return response }
        let hasPlace = response.status != .tooManyRequests
        if hasPlace, strangers.mayRefuse() { return response }
        // Half as long, or half as long again: those that were refused together must not return together.
        let part = 0.5 + Double(services.entropy(1)[0]) / Double(UInt8.max)
        let place = places.refusalWaits(on: pending.channel)
        defer { place?.refusalEnded() }
        try? await Task.sleep(for: .seconds(RetryHint.overloaded) * part)
        return hasPlace ? Response(pending.answer(.tooManyStrangers)) : response
    }

    private func isOfStranger(_ pending: PendingRequest) async -> Bool {
        if let isOfStranger = pending.isOfStranger { return isOfStranger }
        // No endpoint was found, so nobody has looked at the key.
        return !(await hasValidKey(pending.request))
    }

    private func hasValidKey(_ request: Request) async -> Bool {
        let authorization = request.headers[values: .authorization]
        return authorization.isEmpty ? false : (try? await authenticator.caller(authorization: authorization)) != nil
    }

    /// Whether the rest of the connection's input may be read.
    private func isWanted(_ pending: PendingRequest) -> Bool {
        let request = pending.request
        // The parser reads nothing after this request, and closing tells the client so.
        guard request.method != .connect else { return false }
        // A client that was not asked for its body may send it or not: the next bytes could be a body or a request.
        guard pending.isBodyAskedFor || !pending.hasExpectations else { return false }
        return pending.isBodyRead || isSmall(request)
    }

    /// Whether the rest of a body is small enough to be read and dropped.
    private func isSmall(_ request: Request) -> Bool {
        BodyReader.declaredBytes(request).map { $0 <= services.limits.bodyBytesMax } ?? false
    }

    private func respond(to pending: PendingRequest) async throws -> Response {
        let request = pending.request
        let target = try RequestTarget(request.head.path ?? "")
        let match = try match(request.method, target)
        pending.endpoint = match.endpoint
        let caller = try await caller(of: match, pending)
        let share = await share(of: match, caller, request)
        pending.isOfStranger = share == .strangers
        if caller.hasKey || (match.endpoint.isOfApp && share != .strangers) { places.keyWasShown(on: pending.channel) }
        guard share == .strangers else {
            return try await PoolShare.$current.withValue(share) {
                try await respond(to: pending, target, match, caller)
            }
        }
        // The database is not asked before the request has a place.
        let app = services.stores.registry.hasSeen(slug: match.names[0]) ? match.names[0] : nil
        guard await strangers.enter(app) else { throw Problem.tooManyStrangers }
        defer { strangers.leave(app) }
        return try await PoolShare.$current.withValue(share) { try await respond(to: pending, target, match, caller) }
    }

    private func respond(
        to pending: PendingRequest, _ target: RequestTarget, _ match: EndpointMatch, _ caller: Caller
    ) async throws -> Response {
        let request = pending.request
        try pending.checkExpectations()
        let (query, fault) = try query(of: target, match.endpoint)
        let key = try match.endpoint.takesKey ? IdempotencyKey.read(request.headers[values: .idempotencyKey]) : nil
        try pending.checkPreconditions()
        var call = Call(
            match: match, request: request, path: target.path, query: query, idempotencyKey: key, caller: caller,
            fault: fault)
        // An invented token must not keep a place among the strangers while a body comes slowly.
        if case .owner = match.endpoint.access { call.user = try await resources.own.user(of: call) }
        switch match.endpoint.body {
        case .none: return try await reply(to: call, pending)
        case .json: return try await readBody(of: call, pending)
        case .lines:
            try BodyReader.checkEncoding(request)
            return try await reply(to: call, pending)
        }
    }

    private func match(_ method: HTTPRequest.Method, _ target: RequestTarget) throws(Problem) -> EndpointMatch {
        guard let fault = target.fault else { return try EndpointTable.match(method, target.segments) }
        guard let match = try? EndpointTable.match(method, target.segments), case .statuses = match.endpoint.refusals
        else { throw fault }
        return match
    }

    private func query(
        of target: RequestTarget, _ endpoint: Endpoint
    ) throws(Problem) -> (QueryReader, fault: Problem?) {
        do throws(Problem) { return (try QueryReader(target.query, known: endpoint.query), target.fault) } catch {
            guard case .statuses = endpoint.refusals else { throw error }
            return (.empty, target.fault ?? error)
        }
    }

    private func readBody(of call: Call, _ pending: PendingRequest) async throws -> Response {
        let limits = services.limits
        try BodyReader.checkEncoding(call.request)
        try BodyReader.checkLength(call.request, limits)
        // Bytes are counted as they arrive: a client that declares much and sends little takes no room from others.
        let app = await app(of: call.match, call.caller)
        var buffered = 0
        defer { budget.giveBack(buffered, of: app) }
        pending.askForBody()
        let awaited = lateBodies.track(pending.channel)
        defer { lateBodies.forget(awaited) }
        var call = call
        call.body = try await BodyReader.read(call.request, limits) { bytes in
            do throws(ByteBudget.Refusal) { try budget.take(bytes, for: app) } catch { throw Problem(error, of: app) }
            buffered += bytes
        }
        lateBodies.forget(awaited)
        pending.isBodyRead = true
        return try await reply(to: call, pending)
    }

    private func reply(to call: Call, _ pending: PendingRequest) async throws -> Response {
        let endpoint = call.match.endpoint
        switch try await endpoint.handler(resources, call) {
        case .answer(let answer):
            guard let step = endpoint.step, let steps = services.context.steps else {
                return try Response(answer, holding: share(of: answer, to: call), on: pending.channel)
            }
            return Response(answer, announcing: step, to: steps, on: pending.channel)
        case .stream(let stream):
            if endpoint.body == .lines {
                // From here on the handler owns the body.
                pending.isBodyRead = true
                pending.askForBody()
            }
            return Response(stream, on: pending.channel, linger: services.limits.lingerTime)
        }
    }

    /// The budget's part that a large answer to a read holds until it is written; nil for others. The answer to a
    /// change is about as long as its request, and the change can't be refused any more.
    private func share(of answer: Answer, to call: Call) throws(Problem) -> BudgetShare? {
        let bytes = answer.body.count
        guard call.match.endpoint.isRead, bytes > services.limits.unsentBytesMax else { return nil }
        let app = call.match.endpoint.isOfApp ? call.app : nil
        // Readers without a key, of however many apps, can't keep keys from reading.
        let budget = call.caller.hasKey ? answers : strangersAnswers
        do throws(ByteBudget.Refusal) { return try BudgetShare(bytes, of: [budget], for: app) } catch {
            throw Problem(unread: error)
        }
    }

    /// Runs before anything else of the request is examined: a client without the right to ask learns nothing.
    private func caller(of match: EndpointMatch, _ pending: PendingRequest) async throws(Problem) -> Caller {
        guard match.endpoint.access != .open else { return .nobody }
        let authorization = pending.request.headers[values: .authorization]
        switch match.endpoint.access {
        case .open, .anyKey, .scopes: break
        case .reader where authorization.isEmpty: return .nobody
        case .reader, .owner:
            // A user counts as a stranger, whether the token is valid or not: anybody can write one.
            if let token = authenticator.userToken(in: authorization) { return .user(token: token) }
        }
        let caller: Caller
        do { caller = try await authenticator.caller(authorization: authorization) } catch {
            pending.isOfStranger = true
            throw error
        }
        pending.isOfStranger = false
        try caller.check(match)
        return caller
    }

    /// The account that the request's conversations with the database count for.
    private func share(of match: EndpointMatch, _ caller: Caller, _ request: Request) async -> PoolShare {
        // The others need a key, or ask no database.
        guard match.endpoint.isOfApp else { return .common }
        // An open endpoint needs no key. A caller that sends a valid one is no stranger.
        let hasKey = match.endpoint.access == .open ? await hasValidKey(request) : caller.hasKey
        guard hasKey else { return .strangers }
        return AppRequest.isSlug(match.names[0]) ? .app(match.names[0]) : .common
    }

    /// The app that the body counts against. If the database can't confirm the app, the body counts against none.
    private func app(of match: EndpointMatch, _ caller: Caller) async -> String? {
        guard match.endpoint.isOfApp, let slug = match.names.first else { return nil }
        // A key of one app opens no other.
        if let own = caller.app { return own }
        guard AppRequest.isSlug(slug) else { return nil }
        return try? await services.stores.registry.app(slug: slug)?.slug
    }
}

extension PendingRequest {
    fileprivate func answer(_ problem: Problem) -> Answer { endpoint?.answer(problem) ?? Answer(problem) }
}

extension Endpoint {
    /// Whether it looks at an idempotency key. The described service has none.
    fileprivate var takesKey: Bool { if case .statuses = refusals { false } else { true } }

    fileprivate func answer(_ problem: Problem) -> Answer {
        switch refusals {
        case .problems: Answer(problem)
        case .statuses: StatusAnswer.answer(problem)
        }
    }
}

extension GatewayServices {
    /// Logs the endpoint and the code. Paths contain names of installations, and stay out of the log.
    func note(_ problem: Problem, on endpoint: Endpoint?) {
        if problem.code == .databaseUnavailable, problem.cause != nil {
            stores.context.database.failed("requests refused", .unavailable)
        }
        if problem.code == .databaseBusy { stores.context.database.delayed() }
        let route = endpoint.map { "\($0.method) \($0.template)" } ?? "none"
        var metadata: Logger.Metadata = ["route": "\(route)", "code": "\(problem.code.rawValue)"]
        if let cause = problem.cause { metadata["cause"] = "\(cause)" }
        context.log.log(level: problem.logLevel(on: endpoint), "A request was refused", metadata: metadata)
    }
}

extension Problem {
    /// The level depends on who is at fault: a client's mistakes are its own to examine. The database's watch reports an
    /// outage once, and a readiness probe repeats a failure that the code that found it has already logged.
    package func logLevel(on endpoint: Endpoint?) -> Logger.Level {
        switch code.status {
        case 500: .error
        case 503 where code == .databaseUnavailable: .debug
        case 503 where endpoint?.isProbe != true: .warning
        default: .debug
        }
    }
}

/// The connection that a request came on, as Hummingbird passes it.
package struct GatewayContext: InitializableFromSource {
    let channel: any Channel

    package init(source: ApplicationRequestContextSource) { channel = source.channel }
}
