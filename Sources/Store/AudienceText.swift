import JSON
import PushModel

/// An audience as its message keeps it: JSON, named installations sorted by their bytes and each once, so that
/// planning can go on from a position and no pair is planned twice.
enum AudienceText {
    static func encode(_ audience: Audience) -> [UInt8] {
        var writer = JSONWriter(capacity: 64)
        writer.beginObject()
        switch audience {
        case .all:
            writer.member("all", true)
        case .installations(let installations):
            writer.name("installations")
            writer.beginArray()
            for installation in eachOnce(installations) { writer.string(installation) }
            writer.endArray()
        }
        writer.endObject()
        return writer.bytes
    }

    /// nil: not what `encode` wrote.
    static func decode(_ bytes: [UInt8]) -> Audience? {
        guard let stored = (try? JSONReader.read(bytes, limits: .trusted))?.object else { return nil }
        if stored["all"] != nil { return .all }
        guard let values = stored["installations"]?.array else { return nil }
        var installations: [String] = []
        installations.reserveCapacity(values.count)
        for value in values {
            guard let installation = value.string else { return nil }
            installations.append(installation)
        }
        return .installations(installations)
    }

    /// Compared by bytes, as the database does: Swift's strings take different spellings of one letter for equal.
    private static func eachOnce(_ installations: [String]) -> [String] {
        let sorted = installations.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var kept: [String] = []
        kept.reserveCapacity(sorted.count)
        for installation in sorted {
            if let last = kept.last, last.utf8.elementsEqual(installation.utf8) { continue }
            kept.append(installation)
        }
        return kept
    }
}
