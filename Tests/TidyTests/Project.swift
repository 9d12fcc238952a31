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
        return try ["Sources", "Tests", "migrations"].flatMap { try swiftFiles(under: $0) }.sorted().map { path in
            SourceFile(SourceText(path: path, text: try text(path)), in: manifest)
        }
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
