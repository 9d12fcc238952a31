import Encodings
import TestSupport
import Testing

@Suite("An encoded list of member ids")
struct MemberListTests {
    private static let lists: [[Int64]] = [
        [], [0], [1], [127], [128], [.max], [0, .max], [.max - 1, .max], [5, 6, 7, 8], Array(1_000_000..<1_005_000),
        stride(from: 10, to: 2_000_000, by: 401).map { Int64($0) },
        stride(from: 0, to: 50_000, by: 2).map { Int64($0) },
        (0..<60).map { Int64(1) << $0 }, (1...15).map { Int64($0) * (Int64.max / 16) },
    ]

    @Test("decodes to the same ids, from at most eight bytes per id", arguments: lists)
    func roundTrip(ids: [Int64]) throws {
        let bytes = MemberList.encode(ids)
        #expect(try MemberList.decode(bytes) == ids)
        #expect(bytes.count <= 8 * ids.count)
    }

    @Test("stays small if the ids are dense")
    func dense() {
        #expect(MemberList.encode(Array(5_000_000..<5_005_000)).count < 650)
        #expect(MemberList.encode(stride(from: 0, to: 500_000, by: 100).map { Int64($0) }).count <= 5_002)
    }

    @Test("decodes to the same ids for random gaps of every size", arguments: 1...30 as ClosedRange<UInt64>)
    func randomGaps(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let gapMax = Int64(1) << Int64.random(in: 0...40, using: &generator)
        var ids: [Int64] = []
        var last: Int64 = 0
        for _ in 0..<Int.random(in: 0...2_000, using: &generator) {
            last += Int64.random(in: 1...gapMax, using: &generator)
            ids.append(last)
        }
        #expect(try MemberList.decode(MemberList.encode(ids)) == ids)
    }

    @Test(
        "decodes from random bytes to a rising list or fails, and never traps", arguments: 1...60 as ClosedRange<UInt64>
    )
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            var bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if !bytes.isEmpty { bytes[0] = [0, 0x12, 0x81, 0x82, 0x83][Int.random(in: 0..<5, using: &generator)] }
            guard let ids = try? MemberList.decode(bytes) else { continue }
            #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
            #expect(ids.allSatisfy { $0 >= 0 }, "seed \(seed)")
        }
    }

    @Test("fails to decode with the matching reason for each kind of damage")
    func reasons() {
        #expect(throws: MemberListFault.unknownForm) { try MemberList.decode([0x83]) }
        #expect(throws: MemberListFault.endsEarly) { try MemberList.decode([0x81, 0x80]) }
        #expect(throws: MemberListFault.endsEarly) { try MemberList.decode([0x82]) }
        #expect(throws: MemberListFault.endsEarly) { try MemberList.decode([0, 0, 0]) }
        #expect(throws: MemberListFault.numberTooLong) {
            try MemberList.decode([0x81] + [UInt8](repeating: 0xff, count: 10))
        }
        #expect(throws: MemberListFault.notRising) { try MemberList.decode([0x81, 5, 0]) }
        #expect(throws: MemberListFault.notRising) {
            try MemberList.decode([0x81] + [UInt8](repeating: 0xff, count: 8) + [0x7f, 1])
        }
        #expect(throws: MemberListFault.notRising) {
            try MemberList.decode([0x82] + [UInt8](repeating: 0xff, count: 8) + [0x7f, 1])
        }
        #expect(throws: MemberListFault.notRising) { try MemberList.decode([UInt8](repeating: 0, count: 16)) }
    }
}

@Suite("A bitmap of members")
struct MemberBitmapTests {
    @Test("remembers the positions that are set")
    func sets() {
        var bitmap = MemberBitmap(count: 19)
        for position in [0, 7, 8, 18] { bitmap[position] = true }
        bitmap[7] = false
        #expect(bitmap.setCount == 3)
        #expect(bitmap[18] && !bitmap[7] && !bitmap[17])
        var seen: [Int] = []
        bitmap.forEachSet { seen.append($0) }
        #expect(seen == [0, 8, 18])
        #expect(MemberBitmap(bytes: bitmap.bytes, count: 19) == bitmap)
    }

    @Test("rejects bytes that do not fit its count")
    func refuses() {
        #expect(MemberBitmap(bytes: [0, 0], count: 19) == nil)
        #expect(MemberBitmap(bytes: [0, 0, 0b1000], count: 19) == nil)
        #expect(MemberBitmap(bytes: [], count: 0) != nil)
        #expect(MemberBitmap(bytes: [], count: -1) == nil)
    }
}
