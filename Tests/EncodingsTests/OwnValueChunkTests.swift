import Encodings
import TestSupport
import Testing

@Suite("A chunk of members' own values")
struct OwnValueChunkTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func read(_ chunk: OwnValueChunk) throws -> OwnValueChunk {
        try OwnValueChunk(encodedMembers: chunk.encodedMembers, encodedValues: chunk.encodedValues)
    }

    @Test("returns each member's value, and none for others")
    func lookUp() throws {
        let chunk = OwnValueChunk([3, 5, 900], [Self.bytes("three"), [], Self.bytes("nine hundred")])
        #expect(chunk.first == 3 && chunk.last == 900)
        for (member, value) in [(3, "three"), (5, ""), (900, "nine hundred"), (0, ""), (4, ""), (901, "")] {
            #expect(Array(chunk.value(of: Int64(member))) == Self.bytes(value))
            #expect(Array(try Self.read(chunk).value(of: Int64(member))) == Self.bytes(value))
        }
    }

    @Test("stores two bytes for a length, highest first, and then the value")
    func form() {
        let long = [UInt8](repeating: 7, count: 258)
        let chunk = OwnValueChunk([1, 2, 3], [[9], [], long])
        #expect(chunk.encodedMembers == MemberList.encode([1, 2, 3]))
        #expect(chunk.encodedValues == [0, 1, 9, 0, 0, 1, 2] + long)
    }

    @Test("divides a message's values by their bytes, and short ones by their number")
    func divided() {
        let members = (1...1_000).map { Int64($0) * 3 }
        let short = OwnValueChunk.chunks(of: members, members.map { _ in [1] })
        #expect(short.map(\.members.count) == [512, 488])
        #expect(short.flatMap(\.members) == members)
        // 65,536 bytes hold 21 values of 3,000 bytes.
        let long = OwnValueChunk.chunks(
            of: Array(members.prefix(50)), (0..<50).map { [UInt8](repeating: UInt8($0), count: 3_000) })
        #expect(long.map(\.members.count) == [21, 21, 8])
        for (place, member) in members.prefix(50).enumerated() {
            let chunk = long[place / 21]
            #expect(Array(chunk.value(of: member)) == [UInt8](repeating: UInt8(place), count: 3_000))
        }
        let largest = [[UInt8]](repeating: [UInt8](repeating: 1, count: 4_096), count: 17)
        #expect(OwnValueChunk.chunks(of: Array(members.prefix(17)), largest).map(\.members.count) == [16, 1])
        #expect(OwnValueChunk.chunks(of: [], []) == [])
    }

    @Test("loses an erased member's value alone")
    func erased() throws {
        let chunk = OwnValueChunk([3, 5, 7], [Self.bytes("three"), [], Self.bytes("seven")])
        #expect(chunk.erasing([1, 4, 5, 8]) == nil, "none of them has a value here")
        let left = try #require(chunk.erasing([1, 3, 5]))
        #expect(left == OwnValueChunk([3, 5, 7], [[], [], Self.bytes("seven")]))
        #expect(left.encodedValues == [0, 0, 0, 0, 0, 5] + Self.bytes("seven"))
    }

    @Test("fails to decode with the matching reason for each kind of damage")
    func reasons() {
        func decode(_ members: [UInt8], _ values: [UInt8]) throws(OwnValueFault) {
            _ = try OwnValueChunk(encodedMembers: members, encodedValues: values)
        }
        let two = MemberList.encode([1, 2])
        #expect(throws: OwnValueFault.members(.unknownForm)) { try decode([0x83], []) }
        #expect(throws: OwnValueFault.noMembers) { try decode([], []) }
        #expect(throws: OwnValueFault.endsEarly) { try decode(two, [0, 0, 0]) }
        #expect(throws: OwnValueFault.endsEarly) { try decode(two, [0, 0, 0, 2, 1]) }
        #expect(throws: OwnValueFault.endsLate) { try decode(two, [0, 0, 0, 1, 1, 0]) }
        let long = [0x10, 0x01] + [UInt8](repeating: 0, count: 9_000)
        #expect(throws: OwnValueFault.valueTooLong) { try decode(two, long) }
    }

    @Test("round-trips values of random sizes", arguments: 1...20 as ClosedRange<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var members: [Int64] = []
        var values: [[UInt8]] = []
        for _ in 0..<Int.random(in: 1...60, using: &generator) {
            members.append((members.last ?? -1) + Int64.random(in: 1...9, using: &generator))
            let count = [0, 1, 255, 256, 4_096][Int.random(in: 0..<5, using: &generator)]
            values.append([UInt8](repeating: UInt8.random(in: 0...255, using: &generator), count: count))
        }
        let chunk = OwnValueChunk(members, values)
        #expect(try Self.read(chunk) == chunk)
        #expect(members.map { Array(chunk.value(of: $0)) } == values)
    }

    @Test("decodes random bytes to values within their limit or fails", arguments: 1...60 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let members = (1...8).map { Int64($0) }
        let encoded = MemberList.encode(members)
        for _ in 0..<300 {
            let values = (0..<Int.random(in: 0...60, using: &generator)).map { place in
                // Lengths are mostly short, so that some of the bytes are a chunk.
                place % 2 == 0 ? UInt8(0) : UInt8.random(in: 0...12, using: &generator)
            }
            guard let chunk = try? OwnValueChunk(encodedMembers: encoded, encodedValues: values) else { continue }
            #expect(chunk.encodedValues == values, "seed \(seed)")
        }
        for _ in 0..<300 {
            let noise = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? OwnValueChunk(encodedMembers: noise, encodedValues: noise)
        }
    }
}
