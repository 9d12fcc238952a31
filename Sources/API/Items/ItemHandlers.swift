import JSON
import Listener
import Model
import Requests
import Store
import TriggerRules
import TriggerStore
import Triggers

/// Updates of an app's items, one at a time or as a producer's stream.
struct ItemHandlers: Sendable {
    let apps: AppHandlers
    let writer: UpdateWriter
    let limits: GatewayLimits
    let authenticator: APIKeyAuthenticator
    /// The budgets of which each stream takes a share, as an import does.
    let budgets: [ByteBudget]

    private static let producerBytesMax = 256

    func update(_ call: Call) async throws(Problem) -> Answer {
        let app = try await apps.app(of: call)
        try app.checkItemsAreOn()
        let update = try ItemUpdateRequest.read(call.body, item: call.subject)
        // An idempotency key belongs to the app and the endpoint: with another item it is another request. No name of an
        // item has a NUL, so that these bytes can't be read in two ways.
        let claim = call.idempotencyClaim(of: Array(call.subject.utf8) + [0] + call.body)
        let reply = try await translating(
            claim == nil ? .mayDouble : .isKeyed, await writer.write(update, app: app.id, once: claim))
        switch reply {
        case .taken: return .done
        case .replayed: return Answer(.noContent, [], headers: [Answer.replayedHeader])
        case .refused(let refusal): throw Problem(refusal)
        case .mismatch: throw .idempotencyMismatch
        }
    }

    func updates(_ call: Call) async throws(Problem) -> AnswerStream {
        let app = try await apps.app(of: call)
        try app.checkItemsAreOn()
        let producer = try Self.producer(call.query)
        let share: BudgetShare
        do { share = try BudgetShare(limits.importBytes, of: budgets, for: app.slug) } catch {
            throw Problem(error, of: app.slug)
        }
        let taken: Int64
        do throws(Problem) {
            taken = try await translating(.reads, await writer.lastLine(of: producer, app: app.id))
        } catch {
            share.giveBack()
            throw error
        }
        let (check, apps, caller) = (authenticator.check(of: call, app), apps, call.caller)
        let stream = UpdateStream(writer: writer, producer: producer, app: app.id, taken: taken, limits: limits) {
            () async throws(Problem) in
            try await check()
            let now = try await apps.app(app.slug, for: caller)
            guard now.id == app.id else { throw .unknownApp }
            try now.checkItemsAreOn()
        }
        let body = call.request.body
        return AnswerStream(headers: [.contentType: "application/x-ndjson"]) { write in
            defer { share.giveBack() }
            return try await stream.run(body, write)
        }
    }

    private static func producer(_ query: QueryReader) throws(Problem) -> String {
        guard let producer = query["producer"], producer.utf8.count <= producerBytesMax,
            RegistrationRequest.isText(producer)
        else {
            throw Problem(
                .invalidQuery,
                "producer must name the stream, in 1 to \(producerBytesMax) bytes without control characters.")
        }
        return producer
    }
}

extension Problem {
    init(_ refusal: UpdateRefusal, at pointer: JSONPointer = .root) {
        switch refusal {
        case .fault(let fault): self.init(fault, at: pointer)
        case .tooManyItems:
            self.init(
                .tooMany,
                "The app has \(ItemSubscriptionStore.itemsPerAppMax) items already. One without subscriptions and updates "
                    + "is removed after 30 days.")
        }
    }
}
