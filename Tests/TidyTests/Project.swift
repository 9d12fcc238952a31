import Foundation

/// The project that this test was built from.
enum Project {
    static let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func manifest() throws -> Manifest { try readManifest.get() }

    /// Every Swift file of the targets, sorted by path. Read once.
    static func files() throws -> [SourceFile] { try readFiles.get() }

    private static let readManifest = Result { Manifest(text: try text("Package.swift")) }

    private static let readFiles = Result {
        let manifest = try Project.manifest()
        return try ["Sources", "Tests", "migrations"].flatMap { files(under: $0, ["swift"]) }.sorted().map { path in
            SourceFile(SourceText(path: path, text: try text(path)), in: manifest)
        }
    }

    /// The documentation pages, sorted by path.
    static func pages() throws -> [String] {
        (["README.md", "CHANGELOG.md"] + files(under: "docs", ["md", "yaml"])
            + files(under: "migrations", ["md", "sql"]))
            .sorted()
    }

    private static func files(under folder: String, _ extensions: [String]) -> [String] {
        let start = root.appending(path: folder)
        guard let walk = FileManager.default.enumerator(at: start, includingPropertiesForKeys: nil) else { return [] }
        let prefix = root.path(percentEncoded: false)
        return walk.compactMap { $0 as? URL }.filter { extensions.contains($0.pathExtension) }.map { file in
            String(file.path(percentEncoded: false).dropFirst(prefix.count).drop { $0 == "/" })
        }
    }
}
