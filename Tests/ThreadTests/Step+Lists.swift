import Model

// The steps that the tests kill a gateway at.
extension Step {
    /// The kinds of work that pass a step.
    enum Work: Sendable {
        case everyMessage, broadcast, directMessage, control, wakeUp, removal, itemUpdate
    }

    /// Scheduled messages and control requests pass the steps of `control` beside those of broadcasts.
    var work: Work {
        switch self {
        case .messageRead, .messageAnswered, .batchSubmitted, .firstAnswer, .lastAnswer, .verdictsCommitted,
            .settleWritten, .settleCommitted:
            .everyMessage
        case .messageWritten, .messageCommitted, .sliceWritten, .sliceCommitted, .leaseWritten, .leaseCommitted:
            .broadcast
        case .cutWritten, .cutCommitted: .directMessage
        case .scheduleWritten, .scheduleCommitted, .stopWritten, .stopCommitted: .control
        case .nodeWritten, .nodeCommitted, .fanOutWritten, .fanOutCommitted: .wakeUp
        case .removalWritten, .removalCommitted, .portionCommitted: .removal
        case .updateWritten, .updateCommitted, .pushesWritten, .pushesCommitted: .itemUpdate
        }
    }

    /// The steps that every broadcast passes, in their order.
    static let ofBroadcasts = allCases.filter { $0.work == .everyMessage || $0.work == .broadcast }

    /// The steps that a direct message passes if its lane can send, in their order.
    static let ofDirectMessages: [Step] = [
        .messageRead, .cutWritten, .cutCommitted, .messageAnswered, .batchSubmitted, .firstAnswer, .lastAnswer,
        .settleWritten, .settleCommitted,
    ]
}
