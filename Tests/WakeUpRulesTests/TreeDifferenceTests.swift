import Basis
import JSON
import Testing
import WakeUpRules

@Suite("The difference that writes make to a data tree")
struct TreeDifferenceTests {
    @Test("has the leaves and nodes that change, as a plain model of the tree finds them", arguments: 0..<20)
    func equalsModel(seed: UInt64) throws {
        var random = RandomTree(seed: seed)
        var model = TreeModel()
        for step in 0..<100 {
            let writes = try (0..<Int.random(in: 1...3, using: &random.random)).map { _ in try random.write() }
            var after = model
            for write in writes { after.apply(write) }
            let difference = try model.difference(of: writes)
            let place: Comment = "seed \(seed), step \(step)"
            #expect(Self.applying(difference, to: model) == after.leaves, place)
            #expect(difference.nodes.map(\.path).sorted() == Self.changed(model, after), place)
            for node in difference.nodes {
                let (before, now) = (model.weight(of: node.path), after.weight(of: node.path))
                let expected = TreeDifference.ChangedNode(
                    path: node.path, existed: model.hasData(at: node.path), bytesAdded: now.bytes - before.bytes,
                    leavesAdded: now.leaves - before.leaves,
                    children: difference.nodes.count { $0.path.parent == node.path })
                #expect(node == expected, place)
            }
            model = after
        }
    }

    private static func applying(_ difference: TreeDifference, to model: TreeModel) -> [NodePath: String] {
        var leaves = model.leaves
        for path in difference.removed { leaves[path] = nil }
        for leaf in difference.written { leaves[leaf.path] = leaf.value }
        return leaves
    }

    /// The nodes at and above leaves whose value differs.
    private static func changed(_ before: TreeModel, _ after: TreeModel) -> [NodePath] {
        let paths = Set(before.leaves.keys).union(after.leaves.keys)
        let leaves = paths.filter { before.leaves[$0] != after.leaves[$0] }
        return Set(leaves.flatMap { $0.nodes(fromDepth: 0) }).sorted()
    }

    @Test("removes a value that a child took the place of for a moment")
    func displacedValue() throws {
        var model = TreeModel()
        model.apply(try .put(1, at: .root))
        let difference = try model.difference(of: [
            try .patch(JSONObject([JSONMember("a", 1)]), at: .root),
            try .patch(JSONObject([JSONMember("a", .null)]), at: .root),
        ])
        #expect(difference.removed == [.root])
    }

    @Test("has no more changed nodes than their paths may have bytes")
    func bounded() throws {
        let deep = try NodePath(Array(repeating: "k", count: 1_000))
        let member = { (number: Int) in JSONMember("\(number)", ["1": 1]) }
        let small = try TreeWrite.put(.object(JSONObject((0..<10).map(member))), at: deep)
        #expect(try TreeModel().difference(of: [small]).nodes.count == 1_021)
        let large = try TreeWrite.put(.object(JSONObject((0..<4_000).map(member))), at: deep)
        #expect(throws: NodeFault.subtreeTooLarge) { try TreeModel().difference(of: [large]) }
    }

    @Test("removes no more subtrees at once than it may write values")
    func boundedRemovals() throws {
        let members = (0...NodeLeaves.countMax).map { JSONMember("\($0)", .null) }
        _ = try TreeWrite.patch(JSONObject(Array(members.dropLast())), at: .root)
        #expect(throws: NodeFault.subtreeTooLarge) { try TreeWrite.patch(JSONObject(members), at: .root) }
    }
}

@Suite("The text of a node")
struct NodeTextTests {
    @Test("equals the value that was written, without nulls and empty objects", arguments: 0..<20)
    func composes(seed: UInt64) throws {
        var random = RandomTree(seed: seed)
        for _ in 0..<100 {
            let (value, path) = (random.value(), try random.path())
            var model = TreeModel()
            model.apply(try .put(value, at: path))
            let text = NodeText.compose(model.stored(below: path), at: path)
            #expect(try JSONReader.read(text).isSame(as: value.pruned), "seed \(seed)")
        }
    }

    @Test("keeps numbers as they were written, and strings in their shortest form")
    func shortest() throws {
        let written = #"{"n": 1.50e2, "s": "\u00e9\/\u0001", "big": 12345678901234567890, "a": [ 1.0, {"x" : null} ]}"#
        var model = TreeModel()
        model.apply(try .put(try JSONReader.read(Array(written.utf8)), at: .root))
        let text = String(decoding: NodeText.compose(model.stored(below: .root), at: .root), as: UTF8.self)
        #expect(text == #"{"a":[1.0,{"x":null}],"big":12345678901234567890,"n":1.50e2,"s":"é/\u0001"}"#)
    }
}

extension JSONValue {
    fileprivate var pruned: JSONValue {
        guard case .object(let object) = self else { return self }
        let members = object.members.map { JSONMember($0.name, $0.value.pruned) }.filter { !$0.value.isNull }
        return members.isEmpty ? .null : .object(JSONObject(members))
    }

    /// Whether the values are equal, whatever the order of members.
    fileprivate func isSame(as other: JSONValue) -> Bool {
        guard case .object(let own) = self, case .object(let others) = other else { return self == other }
        return own.count == others.count
            && own.members.allSatisfy { member in others[member.name].map { member.value.isSame(as: $0) } ?? false }
    }
}

@Suite("The path of a node")
struct NodePathTests {
    @Test("has keys of 1 to 768 bytes without slashes and control characters, and not reserved")
    func keys() throws {
        #expect(try NodePath(["contacts", "bob"]).text == "/contacts/bob")
        #expect(try NodePath([]) == .root)
        #expect(throws: NodeFault.keyEmpty) { try NodePath(["a", ""]) }
        #expect(throws: NodeFault.keyHasSlash) { try NodePath(["a/b"]) }
        #expect(throws: NodeFault.keyReserved) { try NodePath([".wakeup"]) }
        #expect(throws: NodeFault.keyReserved) { try NodePath(["$any"]) }
        for character in ["\u{1}", "\u{7f}", "\u{85}"] {
            #expect(throws: NodeFault.keyHasControlCharacter) { try NodePath(["a" + character]) }
        }
        #expect(throws: NodeFault.keyTooLong) { try NodePath([String(repeating: "é", count: 384) + "e"]) }
        #expect(try NodePath([String(repeating: "é", count: 384)]).depth == 1)
    }

    @Test("has at most 2,048 bytes with its slashes")
    func length() throws {
        let long = [String(repeating: "k", count: 768), String(repeating: "k", count: 768)]
        #expect(try NodePath(long + [String(repeating: "k", count: 509)]).text.utf8.count == 2_048)
        #expect(throws: NodeFault.pathTooLong) { try NodePath(long + [String(repeating: "k", count: 510)]) }
    }
}
