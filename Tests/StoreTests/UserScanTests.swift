import Store
import TestSupport
import Testing

@Suite("The scan of named users' devices")
struct UserScanTests {
    /// Plans an audience completely. Returns the ids, the number of slices, and the most rows read for one slice.
    private func walk(_ owned: [[Int64]], idsMax: Int) -> (ids: [Int64], slices: Int, readMax: Int) {
        let users = owned.indices.map { "u\($0)" }
        var (ids, slices, readMax): ([Int64], Int, Int) = ([], 0, 0)
        var after: Int64 = 0
        while true {
            var walk = UserScan(users, after: after, idsMax: idsMax)
            var read = 0
            while let part = walk.next {
                var rows: [UserScan.Registration] = []
                for (place, user) in part.users.enumerated() {
                    guard let number = Int(user.dropFirst()) else { continue }
                    let next = owned[number].partitionPoint { $0 > part.after[place] }
                    for id in owned[number][next...].prefix(part.rowsEach) {
                        rows.append(UserScan.Registration(place: place, id: id, route: id * 2, fits: id % 3 != 0))
                    }
                }
                read += rows.count
                walk.take(rows, of: part)
            }
            let slice = walk.slice
            #expect(slice.routes == slice.ids.map { $0 * 2 })
            ids += slice.ids
            slices += 1
            readMax = max(readMax, read)
            guard !slice.isLast, let through = slice.through, through > after else { break }
            after = through
        }
        return (ids, slices, readMax)
    }

    /// Orders the devices user by user, in turn, at random, or at random within each ten users.
    private func crowd(_ devices: [Int], _ order: Int, _ random: inout SeededGenerator) -> [[Int64]] {
        var owners = devices.enumerated().flatMap { Array(repeating: $0, count: $1) }
        switch order {
        case 0: break
        case 1: owners = (0..<(devices.max() ?? 0)).flatMap { turn in devices.indices.filter { devices[$0] > turn } }
        case 2: owners.shuffle(using: &random)
        default:
            owners = stride(from: 0, to: devices.count, by: 10).flatMap { first in
                owners.filter { (first..<first + 10).contains($0) }.shuffled(using: &random)
            }
        }
        var owned = [[Int64]](repeating: [], count: devices.count)
        for (place, owner) in owners.enumerated() { owned[owner].append(Int64(place + 1)) }
        return owned
    }

    @Test("finds each device once, by rising id, and reads only a few times the rows of a slice", arguments: 0...3)
    func everything(order: Int) {
        var random = SeededGenerator(seed: UInt64(order))
        let shapes: [[Int]] = [
            [0], [9_000], [1, 1, 1], [9_000] + Array(repeating: 1, count: 300), Array(repeating: 60, count: 100),
            Array(repeating: 3_000, count: 3), [4, 0, 4, 5, 8_000, 0, 7_000], Array(repeating: 2, count: 3_000),
            Array(repeating: 2_000, count: 20), [20_000, 8_000, 8_000] + Array(repeating: 5, count: 1_000),
        ]
        for devices in shapes {
            let owned = crowd(devices, order, &random)
            let all = owned.joined().filter { $0 % 3 != 0 }.sorted()
            let count = devices.reduce(0, +)
            for idsMax in [7, 2_000, 20_000] where count / idsMax < 500 {
                let (ids, slices, readMax) = walk(owned, idsMax: idsMax)
                #expect(ids == all, "\(devices.prefix(5)) by \(idsMax)")
                #expect(readMax <= 4 * idsMax + 4 * devices.count + 16, "\(devices.prefix(5)) by \(idsMax)")
                #expect(slices <= 2 * (count / idsMax) + 3, "\(devices.prefix(5)) by \(idsMax)")
            }
        }
    }
}

extension [Int64] {
    /// The first index from which on the condition is true.
    fileprivate func partitionPoint(_ isBehind: (Int64) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
