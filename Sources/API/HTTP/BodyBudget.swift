import Hummingbird
import NIOCore
import NIOHTTP1
import Synchronization

/// Limits the bytes of request bodies that are held at once, over all requests, and divides them fairly between apps.
///
/// No app has a fixed part, which would be too small for one app alone and too large for many. An app may hold as many
/// bytes as it leaves free: half if it is alone, a third each if two want all, and so on. So there is always room for
/// one more app, however long the others hold their bytes (P7).
///
/// All requests that are about no app, about all, or about an unknown one count together, as nil. An unknown slug gets
/// no account of its own: a client that invents slugs would get a share with each.
package final class BodyBudget: Sendable {
    package enum Refusal: Error, Equatable, Sendable {
        case full
        /// The app would hold more than it leaves to others.
        case shareUsedUp
    }

    private struct Usage {
        var bytes = 0
        /// Contains only apps that hold bytes.
        var apps: [String?: Int] = [:]
    }

    private let bytesMax: Int
    /// The bytes that an app may hold while there is room: one request's, so that no size is refused forever.
    private let shareFloor: Int
    private let usage = Mutex(Usage())

    package init(bytesMax: Int, shareFloor: Int) {
        precondition(bytesMax > 0 && shareFloor >= 0)
        (self.bytesMax, self.shareFloor) = (bytesMax, shareFloor)
    }

    /// Takes bytes, which the caller has to give back.
    package func take(_ bytes: Int, for app: String?) throws(Refusal) {
        precondition(bytes >= 0)
        let refusal: Refusal? = usage.withLock { usage in
            let (all, own) = (usage.bytes + bytes, usage.apps[app, default: 0] + bytes)
            guard all <= bytesMax else { return .full }
            guard own <= max(shareFloor, bytesMax - all) else { return .shareUsedUp }
            usage.bytes = all
            usage.apps[app] = own
            return nil
        }
        if let refusal { throw refusal }
    }

    package func giveBack(_ bytes: Int, of app: String?) {
        guard bytes > 0 else { return }
        usage.withLock { usage in
            let own = usage.apps[app, default: 0] - bytes
            precondition(own >= 0, "an app returns no more bytes than it took")
            usage.bytes -= bytes
            usage.apps[app] = own == 0 ? nil : own
        }
    }
}

extension Problem {
    init(_ refusal: BodyBudget.Refusal, of app: String?) {
        switch refusal {
        case .full:
            self.init(
                .overloaded, "Too many request bodies are being read at once. Try again.",
                retryAfterSeconds: RetryHint.overloaded)
        case .shareUsedUp:
            self.init(
                .shareUsedUp,
                (app == nil
                    ? "The requests without an app, or for an unknown app, together have" : "This app has")
                    + " reached one app's limit of memory for bodies that are being read and for running imports. Wait "
                    + "until some have ended, then try again. Send fewer at once, and send bodies without pauses.",
                retryAfterSeconds: RetryHint.overloaded)
        }
    }
}

/// One import's part of the budgets, held until the import has ended or was abandoned by its client.
final class ImportShare: Sendable {
    private let budgets: [BodyBudget]
    private let app: String?
    private let bytes: Int
    private let isGivenBack = Atomic<Bool>(false)

    init(_ bytes: Int, of budgets: [BodyBudget], for app: String?) throws(BodyBudget.Refusal) {
        for (place, budget) in budgets.enumerated() {
            do { try budget.take(bytes, for: app) } catch {
                for taken in budgets[..<place] { taken.giveBack(bytes, of: app) }
                throw error
            }
        }
        (self.bytes, self.budgets, self.app) = (bytes, budgets, app)
    }

    func giveBack() {
        guard !isGivenBack.exchange(true, ordering: .relaxed) else { return }
        for budget in budgets { budget.giveBack(bytes, of: app) }
    }

    deinit { giveBack() }
}

enum BodyReader {
    /// The declared length, which the HTTP parser enforces; nil if the body comes in chunks.
    static func declaredBytes(_ request: Request) -> Int? {
        // The parser lets only digits through: a value that is no `Int` is too large for one.
        if let length = request.headers[.contentLength] { return Int(length) ?? .max }
        return request.headers.contains(.transferEncoding) ? nil : 0
    }

    /// Refuses an encoded body: it can't be read, and would only be reported as malformed JSON.
    static func checkEncoding(_ request: Request) throws(Problem) {
        guard request.headers[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw Problem(
                .unsupportedEncoding, "Compressed bodies are not supported: send the body without Content-Encoding.")
        }
    }

    static func checkLength(_ request: Request, _ limits: GatewayLimits) throws(Problem) {
        if let declared = declaredBytes(request), declared > limits.bodyBytesMax {
            throw tooLarge(bytesMax: limits.bodyBytesMax)
        }
    }

    private static func tooLarge(bytesMax: Int) -> Problem {
        Problem(
            .bodyTooLarge,
            "A body may have at most \(bytesMax) bytes. Split the request; many registrations go to devices/import.")
    }

    /// Throws a `Problem`, or the connection's error.
    ///
    /// - Parameter hold: called with each piece's size before the piece is kept; throws if there is no room.
    static func read(
        _ request: Request, _ limits: GatewayLimits, _ hold: (Int) throws -> Void
    ) async throws -> [UInt8] {
        let bytesMax = limits.bodyBytesMax
        var bytes: [UInt8] = []
        var chunks = request.body.makeAsyncIterator()
        while let chunk = try await next(&chunks, limits) {
            guard bytes.count + chunk.readableBytes <= bytesMax else { throw tooLarge(bytesMax: bytesMax) }
            try hold(chunk.readableBytes)
            bytes.append(contentsOf: chunk.readableBytesView)
        }
        return bytes
    }

    /// Returns the next piece of a body; nil after the last. Throws a `Problem` if the body can't be read or is late.
    static func next(_ chunks: inout RequestBody.AsyncIterator, _ limits: GatewayLimits) async throws -> ByteBuffer? {
        do { return try await chunks.next() } catch let error as HTTPParserError {
            throw Problem(unreadable: error, limits)
        }
    }
}
