import Foundation

/// What Package.swift says of its targets, as far as the house needs it.
struct Manifest {
    struct Target: Equatable {
        let name: String
        /// Rooms and products by name.
        let dependencies: [String]
        let path: String?
        let isTest: Bool
    }

    let targets: [Target]

    init(text: String) {
        var targets: [Target] = []
        let declaration = /(?m)^ +(room|suite|\.target|\.systemLibrary|\.executableTarget|\.testTarget)\(/
        for match in text.matches(of: declaration) where text[match.range.upperBound...].first != "_" {
            let call = Manifest.group(in: text[match.range.upperBound...])
            guard let name = call.firstMatch(of: /"([^"]+)"/)?.1 else { continue }
            let kind = match.1
            let list = call.firstMatch(of: /\[/).map { Manifest.group(in: call[$0.range.upperBound...]) } ?? ""
            let hasList = kind == "room" || kind == "suite" || call.contains("dependencies:")
            targets.append(
                Target(
                    name: String(name), dependencies: hasList ? Manifest.names(in: list) : [],
                    path: call.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) },
                    isTest: kind == "suite" || kind == ".testTarget"))
        }
        self.targets = targets
    }

    /// Up to the mark that closes the group whose opening mark was just passed.
    private static func group(in text: Substring) -> Substring {
        var depth = 0
        for place in text.indices {
            switch text[place] {
            case "(", "[": depth += 1
            case ")", "]":
                if depth == 0 { return text[..<place] }
                depth -= 1
            default: break
            }
        }
        return text
    }

    /// `"Room"` and `.product(name: "Library", package: "...")` in order.
    private static func names(in list: Substring) -> [String] {
        let withoutPackages = list.replacing(/package: "[^"]*"/, with: "")
        return withoutPackages.matches(of: /"([^"]+)"/).map { String($0.1) }
    }
}

/// The project that this test was built from.
enum Project {
    static let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func manifest() throws -> Manifest { Manifest(text: try text("Package.swift")) }

    /// Every Swift file of the rooms and of the tests, sorted by path. Read once.
    static func files() throws -> [SourceFile] { try readFiles.get() }

    private static let readFiles = Result {
        try ["Sources", "Tests", "migrations"].flatMap { try swiftFiles(under: $0) }.sorted().map { path in
            SourceFile(SourceText(path: path, text: try text(path)), moduleRule: moduleRule(of: path))
        }
    }

    static func moduleRule(of path: String) -> ModuleRule? {
        Layering.moduleRules.first { path.hasPrefix($0.folder + "/") }
    }

    private static func swiftFiles(under folder: String) throws -> [String] {
        let start = root.appending(path: folder)
        guard let walk = FileManager.default.enumerator(at: start, includingPropertiesForKeys: nil) else { return [] }
        let prefix = root.path(percentEncoded: false)
        return walk.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.map { file in
            String(file.path(percentEncoded: false).dropFirst(prefix.count).drop { $0 == "/" })
        }
    }
}
