import JSON
import Testing
import WakeUpRules

@Suite("The changed children of a watched node")
struct ChildLogTests {
    private static let path = NodePath(stored: "/contacts")

    private static func leaf(_ child: String, _ value: String = "1") -> ChildLog.ChildLeaf {
        (child: child, leaf: NodeLeaf(path: NodePath(stored: "/contacts/\(child)"), value: value))
    }

    private static func change(_ seq: Int64, _ child: String, existed: Bool = true) -> ChildLog.Change {
        ChildLog.Change(seq: seq, child: child, existed: existed)
    }

    private static func log(
        _ changes: [ChildLog.Change], overflowSeq: Int64 = 0, present: [String] = [], leaves: [ChildLog.ChildLeaf] = []
    ) -> ChildLog {
        ChildLog(of: path, changes, overflowSeq: overflowSeq, present: present, leaves: leaves)
    }

    @Test("stand in the group that their first change and their data now put them in")
    func groups() throws {
        let log = Self.log(
            [Self.change(1, "a", existed: false), Self.change(2, "b"), Self.change(3, "a"), Self.change(4, "c")],
            present: ["a", "b"], leaves: [Self.leaf("a"), Self.leaf("b", "2")])
        let all = try #require(log.changes(after: 0))
        #expect(all.added.map(\.key) == ["a"] && all.changed.map(\.key) == ["b"] && all.removed == ["c"])
        #expect(all.changed.map(\.data) == [.json(Array("2".utf8))])
        let later = try #require(log.changes(after: 2))
        #expect(later.added.isEmpty && later.changed.map(\.key) == ["a"] && later.removed == ["c"])
    }

    @Test("stay unknown to a subscription that got less than the log keeps")
    func overflow() {
        let log = Self.log([Self.change(6, "a")], overflowSeq: 5)
        #expect(log.changes(after: 4) == nil)
        #expect(log.changes(after: 5) != nil)
    }

    @Test("stay unknown before the oldest change that was read")
    func manyChanges() {
        let changes = (1...Int64(ChildLog.changesMax)).map { Self.change($0, "a") }
        let log = Self.log(changes)
        #expect(log.changes(after: 0) == nil)
        #expect(log.changes(after: 1)?.removed == ["a"])
    }

    @Test("stay unknown up to the change of the first child whose data was not read")
    func manyChildren() {
        let changes = (1...Int64(ChildLog.childrenMax) + 1).map { Self.change($0, "c\($0)") }
        let log = Self.log(changes)
        #expect(log.changes(after: 0) == nil)
        #expect(log.changes(after: 1)?.removed.count == ChildLog.childrenMax)
    }

    @Test("count as too big if their leaves were not all read")
    func manyLeaves() throws {
        let leaves = (0..<NodeData.leavesMax).map { number in
            let child = number == 0 ? "a" : "b"
            return (child: child, leaf: NodeLeaf(path: NodePath(stored: "/contacts/\(child)/\(number)"), value: "1"))
        }
        let log = Self.log(
            [Self.change(1, "a"), Self.change(2, "b"), Self.change(3, "c")], present: ["a", "b", "c"], leaves: leaves)
        let data = try #require(log.changes(after: 0)).changed.map(\.data)
        #expect(data == [.json(Array(#"{"0":1}"#.utf8)), .tooBig, .tooBig])
    }

    @Test("differ by the bytes of their names")
    func bytes() {
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let log = Self.log([Self.change(1, composed), Self.change(2, decomposed)])
        #expect(log.changes(after: 0)?.removed.count == 2)
    }

    @Test("come with no data if a value was too long to be read")
    func longValue() {
        #expect(NodeData([NodeLeaf(path: Self.path, value: "")], at: Self.path) == .tooBig)
        #expect(NodeData([], at: Self.path) == .json(Array("null".utf8)))
    }
}
