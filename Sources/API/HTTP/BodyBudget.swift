import Hummingbird
import NIOCore
import NIOHTTP1
import Synchronization

/// How many bytes of request bodies are held at once, over all requests, and fairly between apps.
///
/// Nobody has a fixed part of it, which would be too small for one app alone, and too large for many. An app may hold as
/// much as it leaves free: half where it is alone, a third each where two want all, and so on. So there is always room
/// for one more, however long the others hold theirs (P7).
package final class BodyBudget: Sendable {
    /// Whose bodies they are: of an app that there is, or nobody's: of what is about all apps, or about none.
    ///
    /// An app that is only named has no account: whoever invents names would have a share with each of them.
    package struct Account: Hashable, Sendable {
        let app: String?

        package init(app: String?) { self.app = app }
    }

    package enum Refusal: Error, Equatable, Sendable {
        /// All of it is held, by whomever.
        case full
        /// The account would hold more than it leaves to others.
        case shareUsedUp
    }

    private struct Usage {
        var bytes = 0
        /// Only of those that hold something.
        var accounts: [Account: Int] = [:]
    }

    private let bytesMax: Int
    /// What an account may hold in any case, while there is room: one request, so that none starves for its size.
    private let shareFloor: Int
    private let usage = Mutex(Usage())

    package init(bytesMax: Int, shareFloor: Int) {
        precondition(bytesMax > 0 && shareFloor >= 0)
        self.bytesMax = bytesMax
        self.shareFloor = shareFloor
    }

    /// What was taken is to be given back.
    package func take(_ bytes: Int, for account: Account) throws(Refusal) {
        precondition(bytes >= 0)
        let refusal: Refusal? = usage.withLock { usage in
            let (all, own) = (usage.bytes + bytes, usage.accounts[account, default: 0] + bytes)
            guard all <= bytesMax else { return .full }
            guard own <= max(shareFloor, bytesMax - all) else { return .shareUsedUp }
            usage.bytes = all
            usage.accounts[account] = own
            return nil
        }
        if let refusal { throw refusal }
    }

    package func giveBack(_ bytes: Int, of account: Account) {
        guard bytes > 0 else { return }
        usage.withLock { usage in
            let own = usage.accounts[account, default: 0] - bytes
            precondition(own >= 0, "what is given back was taken")
            usage.bytes -= bytes
            usage.accounts[account] = own == 0 ? nil : own
        }
    }
}

extension Problem {
    init(_ refusal: BodyBudget.Refusal, of account: BodyBudget.Account) {
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

/// What one import holds of the budgets, until it has ended: whether it was answered whole, broke off, or its client was
/// gone before the answer began.
final class ImportShare: Sendable {
    private let budgets: [BodyBudget]
    private let account: BodyBudget.Account
    private let bytes: Int
    private let isGivenBack = Atomic<Bool>(false)

    init(_ bytes: Int, of budgets: [BodyBudget], for account: BodyBudget.Account) throws(BodyBudget.Refusal) {
        for (place, budget) in budgets.enumerated() {
            do { try budget.take(bytes, for: account) } catch {
                for taken in budgets[..<place] { taken.giveBack(bytes, of: account) }
                throw error
            }
        }
        self.bytes = bytes
        self.budgets = budgets
        self.account = account
    }

    func giveBack() {
        guard !isGivenBack.exchange(true, ordering: .relaxed) else { return }
        for budget in budgets { budget.giveBack(bytes, of: account) }
    }

    deinit { giveBack() }
}

/// Reads one body whole, within bounds.
enum BodyReader {
    /// The declared length, which the HTTP parser holds the client to; nil where it comes in chunks.
    static func declaredBytes(_ request: Request) -> Int? {
        // The parser lets digits through alone: what is no number here is too large for one.
        if let length = request.headers[.contentLength] { return Int(length) ?? .max }
        return request.headers.contains(.transferEncoding) ? nil : 0
    }

    /// What is packed can't be read, and would only be called bad JSON.
    static func checkEncoding(_ request: Request) throws(Problem) {
        guard request.headers[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw Problem(
                .unsupportedEncoding, "A body is read as it is: send it without Content-Encoding, not compressed.")
        }
    }

    /// Of what is announced: refused before any of it is read.
    static func checkLength(_ request: Request, _ limits: GatewayLimits) throws(Problem) {
        if let declared = declaredBytes(request), declared > limits.bodyBytesMax {
            throw tooLarge(bytesMax: limits.bodyBytesMax)
        }
    }

    private static func tooLarge(bytesMax: Int) -> Problem {
        Problem(
            .bodyTooLarge,
            "A body has at most \(bytesMax) bytes here. Split the request; many registrations go to devices/import.")
    }

    /// Throws a `Problem`, or what the connection failed with.
    ///
    /// - Parameter hold: told of each piece before it is kept; throws where there is no room for it.
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

    /// The next piece of a body; nil behind the last. Throws a `Problem` where it can't be read, or is too late.
    static func next(
        _ chunks: inout RequestBody.AsyncIterator, _ limits: GatewayLimits
    ) async throws -> ByteBuffer? {
        do { return try await chunks.next() } catch let error as HTTPParserError {
            throw Problem(unreadable: error, limits)
        }
    }
}
