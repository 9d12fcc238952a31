import Synchronization

/// Which row a transaction had claimed when it failed: a row that can't be worked on is put aside, or it would be the
/// first of its queue for ever, and everything behind it would wait.
final class ClaimedRow<ID: Sendable>: Sendable {
    private let claimed = Mutex<ID?>(nil)

    /// nil: nothing is claimed.
    func note(_ id: ID?) { claimed.withLock { $0 = id } }

    var row: ID? { claimed.withLock { $0 } }

    /// The row that such a fault is about; nil where it says nothing about any row.
    func blamed(for fault: StoreFault) -> ID? {
        fault.isAboutTheRow ? row : nil
    }
}

/// How long a row is put aside: long enough that the others go on, short enough that what is mended does so soon.
let putAsideFor: Duration = .seconds(60)

/// How long a row is put aside that others have locked for longer than anything of ours locks it.
let lockedPutAsideFor: Duration = .seconds(1)

extension StoreFault {
    var isAboutTheRow: Bool {
        switch self {
        case .conflict, .invalid, .damaged: true
        case .unavailable, .contended, .commitUnknown, .unknownApp, .cancelled: false
        }
    }

    /// The same about a row that has a name, for the operator.
    func about(_ row: String) -> StoreFault {
        switch self {
        case .damaged(let place): .damaged("\(row): \(place)")
        case .invalid(let constraint), .conflict(.other(let constraint)): .damaged("\(row): constraint \(constraint)")
        case .conflict(.slugTaken), .conflict(.keyNameTaken), .unavailable, .contended, .commitUnknown, .unknownApp,
            .cancelled:
            self
        }
    }
}
