import Hummingbird
import NIOCore
import NIOHTTP1
import Synchronization

/// How many bytes of request bodies are held at once, over all requests.
package final class BodyBudget: Sendable {
    private let bytesMax: Int
    private let held = Atomic<Int>(0)

    package init(bytesMax: Int) {
        precondition(bytesMax > 0)
        self.bytesMax = bytesMax
    }

    /// False: too much is held already. What was taken is to be given back.
    package func take(_ bytes: Int) -> Bool {
        let before = held.add(bytes, ordering: .relaxed).oldValue
        guard before + bytes > bytesMax else { return true }
        giveBack(bytes)
        return false
    }

    package func giveBack(_ bytes: Int) { held.subtract(bytes, ordering: .relaxed) }
}

/// What one import holds of the budgets, until it has ended: whether it was answered whole, broke off, or its client was
/// gone before the answer began.
final class ImportShare: Sendable {
    private let budgets: [BodyBudget]
    private let bytes: Int
    private let isGivenBack = Atomic<Bool>(false)

    /// nil: one of the budgets is used up.
    init?(_ bytes: Int, of budgets: [BodyBudget]) {
        self.bytes = bytes
        self.budgets = budgets
        for (place, budget) in budgets.enumerated() where !budget.take(bytes) {
            for taken in budgets[..<place] { taken.giveBack(bytes) }
            isGivenBack.store(true, ordering: .relaxed)
            return nil
        }
    }

    func giveBack() {
        guard !isGivenBack.exchange(true, ordering: .relaxed) else { return }
        for budget in budgets { budget.giveBack(bytes) }
    }

    deinit { giveBack() }
}

/// Reads one body whole, within bounds.
enum BodyReader {
    /// The declared length, which the HTTP parser holds the client to; nil where it comes in chunks.
    static func declaredBytes(_ request: Request) -> Int? {
        if let length = request.headers[.contentLength] { return Int(length) }
        return request.headers.contains(.transferEncoding) ? nil : 0
    }

    /// What is packed can't be read, and would only be called bad JSON.
    static func checkEncoding(_ request: Request) throws(Problem) {
        guard request.headers[values: .contentEncoding].allSatisfy({ $0.lowercased() == "identity" }) else {
            throw Problem(
                .unsupportedEncoding, "A body is read as it is: send it without Content-Encoding, not compressed.")
        }
    }

    static func tooLarge(bytesMax: Int) -> Problem {
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
        if let declared = declaredBytes(request), declared > bytesMax { throw tooLarge(bytesMax: bytesMax) }
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
