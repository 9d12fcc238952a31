import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PushModel
import Store

/// From a request to its answer: route, key, body, handler; and every refusal as problem+json.
package struct GatewayResponder: HTTPResponder {
    private let services: GatewayServices
    private let ring: KeyRing
    /// Of everything that is read, and of imports in it.
    private let budget: BodyBudget
    private let importBudget: BodyBudget
    private let lateBodies: LateBodies
    private let apps: AppHandlers
    private let devices: DeviceHandlers
    private let messages: MessageHandlers
    private let watches: MessageWatches
    private let feedback: FeedbackHandlers
    private let credentials: CredentialHandlers
    private let keys: KeyHandlers

    /// - Parameter ring: nil: one of its own, that knows no key yet.
    package init(_ services: GatewayServices, ring known: KeyRing? = nil) {
        self.services = services
        let ring =
            known ?? KeyRing(operatorSHA256: services.adminKeySHA256, store: services.keys, clock: services.clock)
        self.ring = ring
        let limits = services.limits
        budget = BodyBudget(bytesMax: limits.bodiesInFlightBytesMax, shareFloor: limits.bodyBytesMax)
        importBudget = BodyBudget(bytesMax: limits.importsInFlightBytesMax, shareFloor: limits.importBytes)
        lateBodies = LateBodies(after: limits.bodyTimeout)
        apps = AppHandlers(registry: services.registry)
        let reads = CostlyReads(limits)
        devices = DeviceHandlers(apps: apps, clock: services.clock, reads: reads)
        messages = MessageHandlers(apps: apps, desk: services.messages, clock: services.clock, reads: reads)
        watches = MessageWatches(desk: services.messages, limits: limits, reads: reads)
        feedback = FeedbackHandlers(apps: apps, reads: reads)
        credentials = CredentialHandlers(apps: apps, keeper: services.credentials)
        keys = KeyHandlers(
            apps: apps, store: services.keys, ring: ring, clock: services.clock, entropy: services.entropy)
    }

    /// For registrations that need no task; the rest of them come here.
    package var shortcut: RegistrationShortcut { RegistrationShortcut(services, ring, budget) }

    package func respond(to request: Request, context: GatewayContext) async throws -> Response {
        let incoming = Incoming(request: request, channel: context.channel)
        let response: Response
        do {
            response = try await respond(to: incoming)
        } catch let problem as Problem {
            services.log.note(problem, on: incoming.route)
            response = Response(Answer(problem))
        }
        let whole = request.method == .head ? response.createHeadResponse() : response
        return isWanted(incoming) ? whole : whole.hangingUp(on: context.channel, after: services.limits.lingerTime)
    }

    /// Whether the rest of what comes on the connection may be read.
    private func isWanted(_ incoming: Incoming) -> Bool {
        let request = incoming.request
        // The parser reads nothing behind a request that would speak another protocol; as unheard requests go, the
        // client had better know.
        guard !request.headers.contains(.upgrade), request.method != .connect else { return false }
        // A client that was not asked for its body may send it, or not: what comes next could be either.
        guard incoming.isBodyAskedFor || !incoming.hasExpectations else { return false }
        return incoming.isBodyRead || isSmall(request)
    }

    /// Whether the rest of a body may as well be read and dropped.
    private func isSmall(_ request: Request) -> Bool {
        BodyReader.declaredBytes(request).map { $0 <= services.limits.bodyBytesMax } ?? false
    }

    private func respond(to incoming: Incoming) async throws -> Response {
        let request = incoming.request
        let target = try RequestTarget(request.head.path ?? "")
        let match = try RouteTable.match(request.method, target.segments)
        incoming.route = match.route
        let caller = try await caller(of: match, request)
        try incoming.checkExpectations()
        let query = try QueryReader(target.query, known: match.route.queryNames)
        let key = try IdempotencyKey.read(request.headers[values: .idempotencyKey])
        let call = { body in
            Call(
                match: match, path: target.path, query: query, body: body, idempotencyKey: key, caller: caller)
        }
        if match.route.takesBody { try BodyReader.checkEncoding(request) }
        if match.route.takesBody, match.route != .importDevices { try BodyReader.checkLength(request, services.limits) }
        if match.route == .importDevices { return try await importDevices(call([]), incoming) }
        if match.route == .followMessage { return try await followMessage(call([]), incoming) }
        guard match.route.takesBody else { return Response(try await answer(call([]))) }
        // Counted as it comes: who declares much and sends little takes no room from the others.
        let account = await account(of: match, caller)
        var held = 0
        defer { budget.giveBack(held, of: account) }
        incoming.askForBody()
        let awaited = lateBodies.watch(incoming.channel)
        defer { lateBodies.forget(awaited) }
        let body = try await BodyReader.read(request, services.limits) { bytes in
            do throws(BodyBudget.Refusal) { try budget.take(bytes, for: account) } catch {
                throw Problem(error, of: account)
            }
            held += bytes
        }
        lateBodies.forget(awaited)
        incoming.isBodyRead = true
        let answer = try await answer(call(body))
        guard match.route == .sendMessage, let steps = services.steps else { return Response(answer) }
        return Response(answer, announcing: .messageAnswered, to: steps, on: incoming.channel)
    }

    /// Before anything else of the request is looked at: whoever may not ask learns nothing.
    private func caller(of match: RouteMatch, _ request: Request) async throws(Problem) -> Caller {
        guard !match.route.isOpen else { return .nobody }
        let caller = try await ring.caller(authorization: request.headers[values: .authorization])
        try caller.check(match)
        return caller
    }

    /// Whose share the body comes out of. Where the database can't say whether there is the app, it is nobody's until then.
    private func account(of match: RouteMatch, _ caller: Caller) async -> BodyBudget.Account {
        guard match.route.isOfApp, let slug = match.names.first else { return BodyBudget.Account(app: nil) }
        // A key of one app opens no other.
        if let own = caller.app { return BodyBudget.Account(app: own) }
        guard AppRequest.isSlug(slug) else { return BodyBudget.Account(app: nil) }
        return BodyBudget.Account(app: try? await services.registry.app(slug: slug)?.slug)
    }

    private func answer(_ call: Call) async throws(Problem) -> Answer {
        switch call.match.route {
        case .health: Answer(.ok, HealthAnswer.alive)
        case .readiness: try await readiness()
        case .contract: Answer(.ok, EmbeddedDocuments.contract, contentType: "application/yaml")
        case .errors: Answer(.ok, ErrorPage.bytes, contentType: "text/markdown; charset=utf-8")
        case .createApp: try await apps.create(call)
        case .listApps: try await apps.list(call)
        case .readApp: try await apps.read(call)
        case .changeApp: try await apps.change(call)
        case .deleteApp: try await apps.delete(call)
        case .listDevices: try await devices.list(call)
        case .registerToken: try await devices.registerToken(call)
        case .registerDevice: try await devices.register(call)
        case .readDevice: try await devices.read(call)
        case .patchDevice: try await devices.patch(call)
        case .removeDevice: try await devices.remove(call)
        case .lookUpDevices: try await devices.lookUp(call)
        case .eraseUser: try await devices.eraseUser(call)
        case .importDevices, .followMessage: preconditionFailure("imports and events stream")
        case .readBadge: try await devices.readBadge(call)
        case .setBadge: try await devices.setBadge(call)
        case .consumeBadge: try await devices.consumeBadge(call)
        case .changeBadgeOfToken: try await devices.changeBadgeOfToken(call)
        case .sendMessage: try await messages.send(call)
        case .listMessages: try await messages.list(call)
        case .readMessage: try await messages.read(call)
        case .changeMessage: try await messages.changeRate(call)
        case .listFailures: try await messages.failures(call)
        case .readPush: try await messages.story(call)
        case .pauseMessage: try await messages.pause(call)
        case .resumeMessage: try await messages.resume(call)
        case .cancelMessage: try await messages.cancel(call)
        case .readFeedback: try await feedback.read(call)
        case .undoFeedback: try await feedback.undo(call)
        case .listCredentials: try await credentials.list(call)
        case .submitCredential: try await credentials.submit(call)
        case .activateCredential: try await credentials.activate(call)
        case .retireCredential: try await credentials.retire(call)
        case .deleteCredential: try await credentials.delete(call)
        case .listKeys, .listGlobalKeys: try await keys.list(call)
        case .createKey, .createGlobalKey: try await keys.create(call)
        case .deleteKey, .deleteGlobalKey: try await keys.delete(call)
        }
    }

    private func readiness() async throws(Problem) -> Answer {
        let sentence: String
        switch await services.readiness() {
        case .ready: return Answer(.ok, HealthAnswer.ready)
        case .databaseUnreachable: sentence = "The database can't be reached."
        case .migrationsMissing: sentence = "The database's migrations are not applied; run carillon migrate."
        case .stopping: sentence = "This process is stopping."
        }
        throw Problem(.notReady, sentence, retryAfterSeconds: RetryHint.databaseUnavailable)
    }

    /// The answer begins before the body has ended.
    private func importDevices(_ call: Call, _ incoming: Incoming) async throws(Problem) -> Response {
        let app = try await apps.app(of: call)
        let importing = DeviceImport(
            registry: services.registry, app: app, clock: services.clock, limits: services.limits,
            checkKey: keyCheck(call, app, incoming))
        let account = BodyBudget.Account(app: app.slug)
        let share: ImportShare
        do {
            share = try ImportShare(services.limits.importBytes, of: [importBudget, budget], for: account)
        } catch { throw Problem(error, of: account) }
        // From here on the body is the import's.
        incoming.isBodyRead = true
        incoming.askForBody()
        let (channel, linger) = (incoming.channel, services.limits.lingerTime)
        let body = incoming.request.body
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson"],
            body: ResponseBody { writer in
                defer { share.giveBack() }
                var sink = writer
                let isWhole = try await importing.run(body) { try await sink.write(ByteBuffer(bytes: $0)) }
                try await sink.finish(nil)
                if !isWhole { Response.hangUp(on: channel, after: linger) }
            })
    }

    /// Whether the request's key opens all this still.
    private func keyCheck(
        _ call: Call, _ app: AppRecord, _ incoming: Incoming
    ) -> @Sendable () async throws(Problem) -> Void {
        let (ring, match) = (ring, call.match)
        let authorization = incoming.request.headers[values: .authorization]
        return { () async throws(Problem) in
            let caller = try await ring.caller(authorization: authorization)
            try caller.check(match)
            try caller.check(app.id)
        }
    }

    /// The answer has no end until the message has one.
    private func followMessage(_ call: Call, _ incoming: Incoming) async throws(Problem) -> Response {
        let id = try messages.messageID(call)
        let app = try await apps.app(of: call)
        let first = try await messages.progress(id, of: app.id)
        let isStream = incoming.request.method != .head && !first.isOver
        var seat: MessageWatches.Seat?
        if isStream {
            do throws(MessageWatches.Refusal) {
                seat = try watches.follow(MessageWatches.Subject(app: app.id, message: id))
            } catch { throw Problem(error, services.limits) }
        }
        let (check, apps) = (keyCheck(call, app, incoming), apps)
        let events = MessageEvents(first: first, seat: seat, limits: services.limits) {
            () async throws(Problem) in
            try await check()
            // A deleted app's messages go in the background, and its successor's are not these.
            guard try await apps.app(of: call).id == app.id else { throw .unknownMessage }
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store", .accelBuffering: "no"],
            body: ResponseBody { writer in
                var sink = writer
                try await events.run { try await sink.write(ByteBuffer(bytes: $0)) }
                try await sink.finish(nil)
            })
    }

    /// Names the route and the code: paths hold names of installations, and stay out of the log.
}

extension Logger {
    func note(_ problem: Problem, on route: Route?) {
        var said: Logger.Metadata = [
            "route": "\(route.map { "\($0.method) \($0.template)" } ?? "none")", "code": "\(problem.code.rawValue)",
        ]
        if let cause = problem.cause { said["cause"] = "\(cause)" }
        log(level: problem.logLevel(on: route), "A request was refused", metadata: said)
    }
}

extension Problem {
    /// By whose fault it is: a client's is its own to look at. Whoever asks for readiness is told, again and again, what
    /// the log has from those that found it.
    package func logLevel(on route: Route?) -> Logger.Level {
        switch code.status {
        case 500: .error
        case 503 where route != .readiness: .warning
        default: .debug
        }
    }
}

/// What Hummingbird tells of the connection that a request came on.
package struct GatewayContext: InitializableFromSource {
    let channel: any Channel

    package init(source: ApplicationRequestContextSource) { channel = source.channel }
}

extension Problem {
    fileprivate init(_ refusal: MessageWatches.Refusal, _ limits: GatewayLimits) {
        switch refusal {
        case .full:
            self.init(
                .overloaded, "As many messages are followed here as may be at once. Ask GET .../messages/{id} instead.",
                retryAfterSeconds: RetryHint.streams)
        case .shareUsedUp:
            self.init(
                .shareUsedUp,
                "This app follows messages \(limits.streamsPerAppMax) times at once, which is as often as one app may. "
                    + "Let some end, or ask GET .../messages/{id} instead.", retryAfterSeconds: RetryHint.streams)
        }
    }

    fileprivate init(_ refusal: BodyBudget.Refusal, of account: BodyBudget.Account) {
        switch refusal {
        case .full:
            self.init(
                .overloaded, "Too many request bodies are being read at once. Try again.",
                retryAfterSeconds: RetryHint.overloaded)
        case .shareUsedUp:
            self.init(
                .shareUsedUp,
                (account.app == nil
                    ? "The requests that are about no app, or name one that there is not, hold together"
                    : "This app holds")
                    + " as much as one app may: requests whose bodies are still being read, and imports that run. Let some "
                    + "of them end, then try again; send fewer at once, and each of them whole.",
                retryAfterSeconds: RetryHint.overloaded)
        }
    }
}
