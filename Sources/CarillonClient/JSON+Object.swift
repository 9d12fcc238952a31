extension JSON {
    /// The members of a JSON object in their written order, each name once.
    ///
    /// ```swift
    /// for (name, value) in object { print(name, value.serialized) }
    /// ```
    ///
    /// Names are compared by their UTF-8 bytes, as the gateway compares keys. A `Dictionary` would take two spellings
    /// of "é" for one key and lose a member.
    public struct Object: Sendable {
        private let members: [(name: String, value: JSON)]

        /// Keeps the members in their order. If a name occurs twice, its last value stands at its first place.
        public init(_ members: some Sequence<(name: String, value: JSON)>) {
            var places: [[UInt8]: Int] = [:]
            var unique: [(name: String, value: JSON)] = []
            for member in members {
                if let place = places[Array(member.name.utf8)] {
                    unique[place].value = member.value
                } else {
                    places[Array(member.name.utf8)] = unique.count
                    unique.append(member)
                }
            }
            self.members = unique
        }

        /// Keeps the members as they are. The caller has found no duplicate names.
        init(unique members: [(name: String, value: JSON)]) { self.members = members }

        /// The names in their written order.
        public var names: [String] { members.map(\.name) }

        /// The value of the member with this name; nil if there is none. Walks all members.
        public subscript(name: String) -> JSON? { members.first { $0.name.hasSameBytes(as: name) }?.value }
    }
}

extension JSON.Object: RandomAccessCollection {
    public var startIndex: Int { members.startIndex }
    public var endIndex: Int { members.endIndex }
    public subscript(index: Int) -> (name: String, value: JSON) { members[index] }
}

extension JSON.Object: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral members: (String, JSON)...) { self.init(members.map { (name: $0.0, value: $0.1) }) }
}
