import Requests
import Synchronization

/// Limits the bytes that are held at once over all requests, and divides them fairly between apps. One budget is for
/// request bodies, one for imports, one for answers that clients have not read.
///
/// No app has a fixed part, which would be too small for one app alone and too large for many. An app may hold as many
/// bytes as it leaves free: half if it is alone, a third each if two want all, and so on. So there is always room for
/// one more app, however long the others hold their bytes (P7).
///
/// All requests that are about no app, about all, or about an unknown one count together, as nil. An unknown slug gets
/// no account of its own: a client that invents slugs would get a share with each.
package final class ByteBudget: Sendable {
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
    package init(_ refusal: ByteBudget.Refusal, of app: String?) {
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

    package init(unread refusal: ByteBudget.Refusal) {
        switch refusal {
        case .full:
            self.init(
                .overloaded, "Too many large answers are being read at once. Try again.",
                retryAfterSeconds: RetryHint.overloaded)
        case .shareUsedUp:
            self.init(
                .shareUsedUp,
                "This app's clients are reading as many bytes of answers as one app may. Read answers without pauses, "
                    + "and ask for less at once.",
                retryAfterSeconds: RetryHint.overloaded)
        }
    }
}

/// Bytes of budgets that are held for as long as an import runs, or an answer is written. They are given back once.
package final class BudgetShare: Sendable {
    private let budgets: [ByteBudget]
    private let app: String?
    private let bytes: Int
    private let isGivenBack = Atomic<Bool>(false)

    package init(_ bytes: Int, of budgets: [ByteBudget], for app: String?) throws(ByteBudget.Refusal) {
        for (place, budget) in budgets.enumerated() {
            do { try budget.take(bytes, for: app) } catch {
                for taken in budgets[..<place] { taken.giveBack(bytes, of: app) }
                throw error
            }
        }
        (self.bytes, self.budgets, self.app) = (bytes, budgets, app)
    }

    package func giveBack() {
        guard !isGivenBack.exchange(true, ordering: .relaxed) else { return }
        for budget in budgets { budget.giveBack(bytes, of: app) }
    }

    deinit { giveBack() }
}
