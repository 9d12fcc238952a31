extension JSON: Equatable {
    public static func == (left: JSON, right: JSON) -> Bool {
        // Pairs wait in an array, because recursion into the deepest value could overflow the stack.
        var pairs = [(left, right)]
        while let pair = pairs.popLast() {
            switch pair {
            case (.null, .null): break
            case (.bool(let one), .bool(let other)): guard one == other else { return false }
            case (.number(let one), .number(let other)): guard one == other else { return false }
            case (.string(let one), .string(let other)): guard one.hasSameBytes(as: other) else { return false }
            case (.array(let one), .array(let other)):
                guard one.count == other.count else { return false }
                pairs.append(contentsOf: zip(one, other))
            case (.object(let one), .object(let other)):
                guard one.count == other.count else { return false }
                for (member, counterpart) in zip(one.sorted, other.sorted) {
                    guard member.name.hasSameBytes(as: counterpart.name) else { return false }
                    pairs.append((member.value, counterpart.value))
                }
            case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): return false
            }
        }
        return true
    }
}

extension JSON.Object: Equatable {
    public static func == (left: JSON.Object, right: JSON.Object) -> Bool { JSON.object(left) == .object(right) }

    fileprivate var sorted: [(name: String, value: JSON)] { sorted { $0.name.precedesInBytes($1.name) } }
}
