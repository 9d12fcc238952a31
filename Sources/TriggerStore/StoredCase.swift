import TriggerRules

/// A case that the database stores as a number. Its raw value, if it has one, is a word of the API or of triggers.
protocol StoredCase: CaseIterable {
    var storedNumber: Int16 { get }
}

/// Such a case in a statement or a row: `let mode: Stored<UpdateMode> = try row.stored()`.
struct Stored<Case: StoredCase>: RawRepresentable {
    let value: Case

    init(_ value: Case) { self.value = value }

    init?(rawValue number: Int16) {
        guard let value = Case.allCases.first(where: { $0.storedNumber == number }) else { return nil }
        self.value = value
    }

    var rawValue: Int16 { value.storedNumber }
}

extension UpdateMode: StoredCase {
    var storedNumber: Int16 {
        switch self {
        case .merge: 1
        case .distinct: 2
        }
    }
}

extension WhenPaused: StoredCase {
    var storedNumber: Int16 {
        switch self {
        case .newest: 1
        case .drop: 2
        }
    }
}

extension NumberConversion: StoredCase {
    var storedNumber: Int16 {
        switch self {
        case .double: 1
        case .integer: 2
        }
    }
}

extension TriggerComparison: StoredCase {
    var storedNumber: Int16 {
        switch self {
        case .equal: 1
        case .notEqual: 2
        case .less: 3
        case .atMost: 4
        case .more: 5
        case .atLeast: 6
        }
    }
}
