import Synchronization

/// The row that a transaction had claimed when it failed. A row that can't be worked on is put aside. Otherwise it
/// would stay first in its queue and block everything behind it.
final class ClaimedRow<ID: Sendable>: Sendable {
    private let claimed = Mutex<ID?>(nil)

    /// nil: nothing is claimed.
    func note(_ id: ID?) { claimed.withLock { $0 = id } }

    var row: ID? { claimed.withLock { $0 } }

    /// The row that the fault is about; nil: the fault concerns no row.
    func blamed(for fault: StoreFault) -> ID? {
        fault.isAboutTheRow ? row : nil
    }
}

/// The time for which a faulty row is put aside: long enough that the others go on, short enough that a repaired row
/// soon does too.
let putAsideFor: Duration = .seconds(60)

/// The time for which a row is put aside if others lock it for longer than any transaction of ours would.
let lockedPutAsideFor: Duration = .seconds(1)

extension StoreFault {
    var isAboutTheRow: Bool {
        switch self {
        case .conflict, .invalid, .damaged: true
        case .unavailable, .contended, .commitUnknown, .unknownApp, .cancelled: false
        }
    }

    /// The same fault with the row's name in it, for the operator.
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
