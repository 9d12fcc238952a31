import Store
import TriggerRules

/// The outcome of one update.
package enum UpdateReply: Equatable, Sendable {
    case taken
    /// The update changed nothing.
    case refused(UpdateRefusal)
    /// An earlier request with this idempotency key was taken; nothing was done now.
    case replayed
    /// The idempotency key was used for another body; nothing was done.
    case mismatch

    init(_ earlier: IdempotentReply) {
        self =
            switch earlier {
            case .done: .taken
            case .replayed: .replayed
            case .mismatch: .mismatch
            }
    }
}

package enum UpdateRefusal: Equatable, Sendable {
    case fault(UpdateFault)
    /// The item is new, and its app has as many as it may have.
    case tooManyItems
}

/// The outcome of a group of updates.
package struct UpdateResult: Equatable, Sendable {
    /// One for each update, in order.
    package internal(set) var replies: [Result<UpdateReply, StoreFault>]
    /// Items have become due, or pushes are held.
    package internal(set) var raisedAny: Bool

    package init(replies: [Result<UpdateReply, StoreFault>], raisedAny: Bool) {
        (self.replies, self.raisedAny) = (replies, raisedAny)
    }
}

/// A line of a producer's stream.
package struct ProducedLine: Equatable, Sendable {
    package let line: Int64
    /// nil: the line was refused before. It counts as taken.
    package let update: ItemUpdate?

    package init(line: Int64, update: ItemUpdate?) { (self.line, self.update) = (line, update) }

    /// The lines whose number is above the last one that was taken, and above all before them.
    static func lines(_ lines: [ProducedLine], behind last: Int64) -> [ProducedLine] {
        var last = last
        return lines.filter { line in
            guard line.line > last else { return false }
            last = line.line
            return true
        }
    }

    /// The last line that is taken with so many updates of the lines; nil: there are no lines.
    static func through(_ lines: [ProducedLine], updateCount: Int) -> Int64? {
        let left = lines.lazy.filter { $0.update != nil }.dropFirst(updateCount).first
        guard let left else { return lines.last?.line }
        return lines.last { $0.line < left.line }?.line
    }
}

/// A line that changed nothing.
package struct RefusedLine: Equatable, Sendable {
    package let line: Int64
    package let refusal: UpdateRefusal

    package init(line: Int64, refusal: UpdateRefusal) { (self.line, self.refusal) = (line, refusal) }

    /// Returns nil if the line wasn't refused.
    init?(_ line: ProducedLine, _ reply: UpdateReply) {
        guard case .refused(let refusal) = reply else { return nil }
        self.init(line: line.line, refusal: refusal)
    }
}

/// The outcome of a producer's lines.
package struct ProducedResult: Equatable, Sendable {
    /// The number of the last line that was taken, now or before; 0: none was.
    package let through: Int64
    /// Those of the lines that were taken now.
    package let refusals: [RefusedLine]
    /// Items have become due, or pushes are held.
    package let raisedAny: Bool

    package init(through: Int64, refusals: [RefusedLine], raisedAny: Bool) {
        (self.through, self.refusals, self.raisedAny) = (through, refusals, raisedAny)
    }

    /// The outcome of these lines and of those behind them.
    func followed(by next: ProducedResult) -> ProducedResult {
        ProducedResult(
            through: next.through, refusals: refusals + next.refusals, raisedAny: raisedAny || next.raisedAny)
    }
}
