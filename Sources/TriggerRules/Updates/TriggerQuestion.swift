/// A trigger that is asked at the updates of one item.
package struct TriggerQuestion: Sendable {
    /// The most work of a batch: about a third of a second, and at most a few times that for conversions of long texts.
    package static let workMax = 128 << 20
    /// The work of finding a field, in bytes of a text that takes as long to compare.
    private static let findingWork = 1_024

    package let item: String
    private let trigger: TriggerExpression
    /// Those of the subscription: the trigger names no others.
    private let fields: [String]
    private let mode: UpdateMode

    package init(_ trigger: TriggerExpression, of fields: [String], item: String, _ mode: UpdateMode) {
        (self.trigger, self.fields, self.item, self.mode) = (trigger, fields, item, mode)
    }

    /// Whether the trigger holds, if the update may have changed that.
    /// - Parameters:
    ///   - isFirst: the trigger wasn't asked before.
    ///   - work: grows by the bytes of the texts that are read, and by `findingWork` for each field that is looked for.
    func holds(after state: ItemState, isFirst: Bool, work: inout Int) -> Bool {
        // In mode DISTINCT a trigger that holds without a text reads none, so it held before.
        var isChanged = isFirst
        for field in fields where !isChanged {
            work += Self.findingWork
            isChanged = state.field(field)?.seq == state.seq
        }
        guard isChanged else { return false }
        var read = 0
        let holds = trigger.holds { name in
            let text = state.field(name)?.shownText(mode, at: state.seq)
            read += Self.findingWork + (text?.utf8.count ?? 0)
            return text
        }
        work += read
        return holds
    }
}

/// The answers of triggers to a batch, or to its beginning.
package struct TriggerAnswers: Equatable, Sendable {
    /// The indices of the questions whose triggers hold after one of the updates.
    package internal(set) var satisfied: [Int] = []
    /// The number of updates, from the batch's first, at which all triggers were asked.
    package internal(set) var updateCount: Int

    init(updateCount: Int) { self.updateCount = updateCount }
}
